/** A process that streams an output of 100 MB into a workspace, pages it, and tells the memory it took. */

import { readFileTool } from '../tools/read-file.ts';
import { runTool } from '../tools/run.ts';
import { OutputSink } from '../tools/spill.ts';
import { toolCall } from './tool-scope.ts';

const BYTES = 100_000_000;
const [workspace = ''] = process.argv.slice(2);
const context = toolCall({ workspace });

/** As a program writes it: pieces of 64 KiB, each a buffer of its own. */
function* output(): Generator<Buffer> {
  const line = `${'x'.repeat(99)}\n`;
  for (let sent = 0; sent < BYTES; ) {
    const piece = Buffer.from(line.repeat(655)).subarray(0, BYTES - sent);
    sent += piece.length;
    yield piece;
  }
}

let most = 0;
const look = () => {
  most = Math.max(most, process.memoryUsage.rss());
};
const page = (start: number) =>
  runTool(readFileTool, JSON.stringify({ path: 'warm', start_line: start }), context, { timeoutMs: 60_000 });

// What is loaded and compiled once is no cost of an output.
const warm = new OutputSink({ name: 'warm', context, outputBytes: 1_000 });
for (let i = 0; i < 20; i += 1) await warm.write('x'.repeat(65_536));
await warm.end();
await page(1);
globalThis.gc?.();
const before = process.memoryUsage.rss();
await using sink = new OutputSink({ name: 'shell', context, outputBytes: 30_000 });
for (const piece of output()) {
  await sink.write(piece);
  look();
}
const { output: shown, stored } = await sink.end();
look();
const read = await runTool(readFileTool, JSON.stringify({ path: stored?.path, start_line: 999_999 }), context, {
  timeoutMs: 60_000,
});
look();
process.stdout.write(
  JSON.stringify({
    grownMb: (most - before) / 1e6,
    shownBytes: Buffer.byteLength(shown),
    stored,
    page: read.output.slice(0, 40),
  }),
);
