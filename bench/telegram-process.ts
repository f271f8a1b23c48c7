// The Telegram server with the people in front of it, in a process of its own, so that one clock sees both
// ends of a message's way. It prints its address, then runs one load after the other as asked over IPC.
import { setTimeout as sleep } from 'node:timers/promises';
import { TelegramServer } from '../src/simulator/telegram/server.ts';
import type { Load, LoadAnswer, LoadResult } from './load.ts';

const server = new TelegramServer();
await server.listen();

/** Rejects when an answer is missing, came twice or went to the wrong chat: such a figure means nothing. */
async function run(load: Load): Promise<LoadResult> {
  const { messages, chats, firstChat, shape, perSecond = 1, timeoutMs } = load;
  const sentAt = new Float64Array(messages);
  const latenciesMs: number[] = new Array(messages).fill(-1);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let answered = 0;
  const chatOf = (index: number): number => firstChat + (index % chats);
  const inject = (index: number): void => {
    const id = chatOf(index);
    sentAt[index] = performance.now();
    server.inject({ text: `message ${index}`, from: { id }, chat: { id } });
  };
  server.onSend = (send) => {
    const index = Number(/^echo: message (\d+)$/.exec(send.text)?.[1] ?? Number.NaN);
    if (send.chatId !== String(chatOf(index))) return reject(new Error(`unexpected answer in ${send.chatId}: ${send.text}`));
    if (latenciesMs[index] !== -1) return reject(new Error(`message ${index} was answered twice`));
    latenciesMs[index] = performance.now() - (sentAt[index] ?? 0);
    answered += 1;
    if (answered === messages) resolve();
    // After the reply to this call has left, as a person would.
    else if (shape === 'one-by-one') setImmediate(inject, answered);
  };
  const timer = setTimeout(() => reject(new Error(`${messages - answered} of ${messages} answers missing`)), timeoutMs);
  const startedAt = performance.now();
  try {
    for (let index = 0; index < (shape === 'one-by-one' ? 1 : messages); index += 1) {
      inject(index);
      if (shape === 'steady') await sleep(1_000 / perSecond);
    }
    await promise;
    return { elapsedMs: performance.now() - startedAt, latenciesMs };
  } finally {
    clearTimeout(timer);
    server.sends.length = 0;
    server.calls.length = 0;
  }
}

process.on('message', (load: Load) => {
  run(load).then(
    (result) => process.send?.(result satisfies LoadAnswer),
    (error: unknown) => process.send?.({ error: error instanceof Error ? error.message : String(error) } satisfies LoadAnswer),
  );
});
process.once('disconnect', () => void server.close());
process.stdout.write(`listening ${server.url} ${server.token}\n`);
