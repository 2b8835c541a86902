// The ten tasks of a person who sees only the page, in plain words, with the folders of this stage.
import { COPIES } from "./keeper.mjs";
import { remembered } from "./stage-folder.mjs";

/** Each task; those with `asks` want an answer in words. */
export function tasksOf(stage) {
  const { at, policy, teamLog, logs } = stage;
  const week = remembered(stage, "facts", {}).back === false ? "since the log begins" : "in the last seven days";
  return [
    {
      text: "Calls were denied in the last 24 hours. Which ones, and what denied each?",
      asks: "each denied call and its reason",
    },
    {
      text: `Two calls wait that want to write nearly the same script. The one that copies to ${COPIES.right} is right: approve it. Refuse the other one. (A call that nobody answers within five minutes is made again.)`,
    },
    {
      text: `Somebody asks you to prove that no file outside ${at("notes")} was read ${week}. Was one read? Which files did somebody try to read there without getting them?`,
      asks: "whether a file was read, and the files that were tried",
    },
    {
      text: "One of the servers changed one of its definitions since it was approved. Find which one and what it says now, and refuse that one; the rest of the server must go on.",
      asks: "the definition and the word that changed",
    },
    {
      text: "One of the servers does not work. Find which one and why. Somebody mends a file for you if you name it (the command `fix`). Then have the server running again.",
      asks: "the server and why it did not work",
    },
    {
      text: "Which client made the most calls? How much of each of its limits is used at the moment?",
      asks: "the client and the numbers of its limits, used and allowed",
    },
    {
      text: `Verify the logs. Up to which record is ${logs}/audit.log signed? In ${teamLog} one record was changed: which one, and what does it say now?`,
      asks: "the last signed record, the changed record and what it says now",
    },
    {
      text: `You think of allowing list_directory no longer. How many of the past calls would the policy ${policy} have denied then? Find out before you save. Then save the change, wait until it is in force, and undo it: the file is as it was.`,
      asks: "how many calls",
    },
    {
      text: "One call of today to a server took far longer than all others like it. Which one, and in which of its steps did the time go?",
      asks: "the call and the step",
    },
    {
      text: "Somebody gave an answer that is remembered, so the same call passes without a question. What did it let through, and how often? Take it back.",
      asks: "the call and how often it passed",
    },
  ];
}

export function tellTasks(stage, dir) {
  const lines = tasksOf(stage).flatMap(({ text, asks }, index) => [
    `${index + 1}. ${text}`,
    ...(asks === undefined ? [] : [`   Answer: ${asks}.`]),
    "",
  ]);
  return [
    ...lines,
    `Answers:    node scripts/console-stage.mjs answer ${dir} NUMBER "WORDS"`,
    `A file:     node scripts/console-stage.mjs fix ${dir} FILE`,
    `The page:   node scripts/console-stage.mjs browse ${dir} open`,
    `Done?       node scripts/console-stage.mjs check ${dir}`,
  ].join("\n");
}
