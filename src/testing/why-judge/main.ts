// npm run judge:why: 5,000 messages of every fate on the real daemon, which is killed now and then; `why` has
// to name the reason and the key of the config that the script of the simulator knows. Exit code 1 when it
// does not.
//
//   --messages N   (default 5000)
//   --kills N      (default 8)
import { parseArgs } from 'node:util';
import { play } from './play.ts';

const { values: flags } = parseArgs({
  options: { messages: { type: 'string', default: '5000' }, kills: { type: 'string', default: '8' } },
});
const commands = [
  ['logs', '--json'],
  ['logs'],
  ['logs', '--level', 'warn'],
  ['effects', '--json'],
  ['effects'],
  ['trace', 'last'],
  ['trace', 'last', '--json'],
  ['why', 'last'],
  ['why', 'last', '--json'],
  ['why', '10000'],
];
const { judged, wrong, kinds } = await play({ messages: Number(flags.messages), kills: Number(flags.kills), commands });
for (const [kind, count] of Object.entries(kinds)) process.stdout.write(`${String(count).padStart(6)}  ${kind}\n`);
for (const sentence of wrong) process.stdout.write(`✗ ${sentence}\n`);
process.stdout.write(`${judged} messages, ${wrong.length} wrong\n`);
process.exit(wrong.length === 0 ? 0 : 1);
