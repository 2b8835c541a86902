// Connects a raw peer as `connectInMemory` does, and fails the test if the server writes anything its revision forbids.
import { expect, onTestFinished } from "vitest";
import type { Server } from "../../src/server/server.js";
import {
  connectInMemory,
  type MemoryPeer,
  type MemoryPeerOptions,
  type WireMessage,
} from "../../src/serve/connect-in-memory.js";
import { WireJudge } from "./wire-judge.js";

/** A raw peer whose messages are judged as they come; the test fails at its end if one was wrong. */
export async function connect(server: Server, options: MemoryPeerOptions = {}): Promise<MemoryPeer> {
  const judge = new WireJudge();
  const peer = await connectInMemory(server, options);
  if (peer.messages.length > 0) judge.sent('{"jsonrpc":"2.0","id":1,"method":"initialize"}');
  for (const message of peer.messages) judge.received(JSON.stringify(message));
  const messages = peer.messages as WireMessage[];
  messages.push = (...added) => {
    for (const message of added) judge.received(JSON.stringify(message));
    return Array.prototype.push.apply(messages, added);
  };
  const send = peer.send.bind(peer);
  peer.send = (text) => {
    judge.sent(text);
    send(text);
  };
  onTestFinished(async () => {
    await peer.close();
    expect(judge.faults).toEqual([]);
  });
  return peer;
}
