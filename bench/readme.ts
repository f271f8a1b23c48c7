import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Figure, toTable } from './figure.ts';

/** Rewrites bench/README.md with the figures of this run. */
export async function writeReadme(run: { readonly machine: string; readonly figures: readonly Figure[] }): Promise<void> {
  await writeFile(join(import.meta.dirname, 'README.md'), toReadme(run));
}

function toReadme({ machine, figures }: { readonly machine: string; readonly figures: readonly Figure[] }): string {
  return `# How fast and how small

\`\`\`sh
npm run bench                        # everything, about twenty minutes; exit code 1 when a limit is missed
npm run bench -- --only latency      # one of start, latency, throughput, slow-model, model-calls, tool-calls, tool-memory, worker-memory, channels, commands, ledger, record, scale, slow-disk, soak; repeatable
npm run bench -- --json              # for programs
npm run bench -- --write             # also rewrites this page
npm run bench:versus -- --base DIR   # compares with an earlier checkout, medians of five runs each in turn
\`\`\`

${machine}

${toTable(figures)}

## How to read them

Every process is a real one: the daemon (\`dist\`, config file, data directory on the disk of TMPDIR, default log level on a pipe), a
Telegram server that keeps to the Bot API's offsets and long polls, a model server that streams the echo of the last message, and
the bare bot. All share the processors named above, so compare lines of one run, not of two machines. The Telegram server checks
each answer: a missing, doubled or misdirected one fails the benchmark. Gatehouse's own rate limits for Telegram are off, because
the real platform's 30 messages a second would hide everything; all else is as an operator gets it.

- **bare bot**: grammY and the provider's SDK in thirty lines ([bare-bot.ts](bare-bot.ts)): no history, no disk, no retry, nothing
  survives a crash. \`in-turn\` is what grammY does by itself, one update after the other; throughput is held against it. \`at-once\`
  does not await its own work: all updates of a poll side by side, with no bound, no order in a chat, and errors that reach nobody.
  It is shown as the most that this machine gives; latency is held against the faster of the two.
- **latency**: from the message being there to its answer being at the platform, one message at a time, 0 ms model. What Gatehouse
  adds is mostly four commits that reach the disk before the answer leaves, by two syncs (accepted and claimed, turn and sending).
- **throughput**: 2,000 messages there at once. Gatehouse runs ten turns side by side and keeps the order of each chat.
- **slow-model**: the model takes 200 ms, so ten turns at once can answer 50 messages a second and no more. Answers that come at the
  same instant wait for each other's work: all ten turns fall into step, which a real model's differing times prevent.
- **start**: from starting the process to its ready line, with an open Telegram channel. \`sources\` is the command of \`npm start\`
  without npm itself, which adds its own start and stays in memory. The first start of all compiles everything; later ones find
  compiled code in Node's cache.
- **model-calls**: processes that only call a model. \`bare\` is the provider's SDK alone, \`wire\` our wire around it, \`stack\` all that
  a call of the daemon passes: cost, retry, budget, router over two slots, and the row of the ledger, which is synced to the disk
  before the call counts as done (in the daemon it shares that sync with the turn's step). The stream is CPU, user and system, of
  reading an answer of 100 kB in single words that the server writes as fast as it can. The last lines are the packages a process with
  one provider has loaded after its first call, with the code of the whole program in memory.
- **channels**: \`receive\` is from the bytes of a recorded message of the platform (for a webhook its signature is checked, a mail is a whole
  one) to its being committed to the journal and synced to the disk, through the adapter's own parser and the real gateway; \`render\` is 4,000
  characters of mixed Markdown in what the adapter sends. \`added\` is what the built daemon takes longer to be ready, and has resident 2 s later,
  with the channel connected to a double of its platform besides the terminal.
- **ledger**: a million paid calls of a year. **record**: what the record of a message costs, and \`trace last\` over 30 days of
  10,000 messages.
- **scale**: a million messages of the last six days over 100,000 chats, as version 4 left them. The first start migrates them; the
  starts after that are compared with those of an empty directory, the cold ones with an empty page cache (without root they say so). Then half of
  the rows become too old, and messages come in while they are deleted. Last, 50,000 answers wait for a channel that is down.
- **slow-disk**: an fsync of 30 ms, and ten messages a second; how long the event loop is held up.
- **soak**: 20,000 messages in ten waves; growth is fitted from the end of the first fifth on. Some of it is wanted: conversations stay
  in memory up to a bound. The daemon runs as the service unit starts it, with three bounds on V8's heap
  (\`--max-old-space-size=768 --min-semi-space-size=4 --max-semi-space-size=16\`, in \`npm start\` and the Docker image too). Without them, on a machine with much
  memory, the same messages end at 470 to 510 MB instead of 260, most of it garbage not yet looked for; throughput is the same.
  At its first ten seconds of rest the daemon gives back what only its start needed.

Processes are killed at every commit, wire call and file write by \`npm run sweep\`; this page is about speed and size only.
`;
}
