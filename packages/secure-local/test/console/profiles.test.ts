// Policy and Clients where clients have profiles: each is answered by what its own profile leaves.
import { onTestFinished, expect, it } from "vitest";
import { RawClient } from "../cli/command.js";
import { axe } from "./axe.js";
import { contextOf, inBrowser, LONG, opened, show, started } from "./in-browser.js";

const POLICY = `version: "1.0"
filesystem: { allowed_paths: ["NOTES/**"] }
commands: { allowed: [{ name: today, executable: /bin/date }] }
tools: { allowed: [read_file, write_file, run_command, calculate] }
profiles:
  review: { tools: { allowed: [read_file, calculate] } }
`;

inBrowser("a client with a profile", (browser) => {
  it("is shown with it, and Policy draws and answers what that profile leaves", { timeout: LONG }, async () => {
    const watched = await started({ signedIn: false, policy: POLICY });
    await watched.serve();
    const client = new RawClient(["--policy", watched.policy, "--profile", "review"], { home: watched.home });
    onTestFinished(() => void client.child.kill("SIGKILL"));
    await client.open();
    for (const each of [watched.client, client])
      await each.request("tools/call", { name: "calculate", arguments: { expression: "1+1" } });
    const { page, conduct } = await opened(await contextOf(browser()), watched);
    await show(page, "policy");
    const whom = page.getByRole("combobox", { name: "For" });
    await expect
      .poll(() => whom.locator("option").allInnerTexts())
      .toEqual([
        "the whole policy, without a profile",
        "the profile review",
        ...["test 1.0: the whole policy", "test 1.0: the profile review"],
      ]);
    const picture = page.locator(".reach");
    const drawn = (): Promise<string> => picture.getAttribute("aria-label").then((label) => label ?? "");
    await expect.poll(drawn).toMatch(/Tools: .*write_file/);
    expect(await drawn()).toMatch(/Commands: today/);
    const ask = async (): Promise<string> => {
      await page.getByRole("button", { name: "What decides?" }).click();
      return page.locator("#policy-explain ~ div[role=status]").innerText();
    };
    await page.getByLabel("May it").selectOption("write");
    await page.getByLabel("The path").fill(`${watched.notes}/a.md`);
    expect(await ask()).toMatch(/^For the whole policy.* allowed/);
    await whom.selectOption("test 1.0: the profile review");
    await expect.poll(drawn).toMatch(/Tools: calculate.*; denied: write_file, run_command;/);
    expect(await drawn()).toMatch(/Commands: nothing; denied: today/);
    expect(await drawn()).toMatch(/Files to change: nothing; denied: /);
    await page.getByLabel("May it").selectOption("write");
    await page.getByLabel("The path").fill(`${watched.notes}/a.md`);
    expect(await ask()).toMatch(/^For test 1\.0, which has the profile review: denied/);
    expect(await axe(page)).toEqual([]);
    await show(page, "clients");
    const reviewing = page.locator("article", { hasText: "review" });
    await page.locator("article", { hasText: "none: it has the whole policy" }).waitFor();
    await reviewing.getByRole("button", { name: "review", exact: true }).click();
    await expect.poll(() => whom.inputValue()).toBe("client review test 1.0");
    expect(conduct.faults).toEqual([]);
  });

  it(
    "is told of nothing that is not known yet: what a policy reaches stands there once it was read",
    { timeout: LONG },
    async () => {
      const watched = await started({ signedIn: false, policy: POLICY });
      const { page } = await opened(await contextOf(browser()), watched);
      const asked = new Promise<() => void>((seen) => {
        void page.route("**/api/reach*", (route) => seen(() => void route.continue()));
      });
      await show(page, "policy");
      const goOn = await asked;
      await page.getByText("Reading the policy").waitFor();
      expect(await page.getByText("It lets nothing outside").count()).toBe(0);
      goOn();
      await page.locator(".reach").waitFor();
      expect(await page.getByText("Reading the policy").count()).toBe(0);
    },
  );
});
