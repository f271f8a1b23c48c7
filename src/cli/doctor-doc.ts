import { RISKS } from '../../config/sections/security.ts';
import { CHECKS } from './doctor/index.ts';

/** Text of docs/doctor.md: the checks, and the dangers that `config/check-security.ts` knows. */
export function renderDoctorDoc(): string {
  return [
    '# gatehouse doctor',
    '',
    '`gatehouse doctor` looks at everything that keeps a daemon from its work and prints a line for each: what was',
    'found, and the command that mends it. `--fix` mends what can be mended without a decision of yours, and asks',
    'before each change; `--yes` does not ask. `--offline` calls no provider and connects no channel; without it each',
    'model is asked one short question, which costs a token or two. The exit code is 0 where nothing is bad, 1 where',
    'something is, and 78 where the config cannot be used. `--json` prints the same as a document. For a monitor that',
    'asks every minute take `gatehouse status --check`.',
    '',
    'Generated from `src/cli/doctor` and `config/sections/security.ts` by `npm run generate`.',
    '',
    '## Checks',
    '',
    '| id | what has to be so |',
    '|---|---|',
    ...CHECKS.map(({ id, title }) => `| `.concat('`', id, '` | ', title, ' |')),
    '',
    '## Dangers in the config',
    '',
    '`gatehouse doctor security` names them with line and repair, and so do `gatehouse config check` and each start.',
    'Those that **stop the start** would send a secret over the internet in the clear. What you know of and mean goes',
    'into `"security": { "accept": ["ID"] }`.',
    '',
    '| id | what it is | |',
    '|---|---|---|',
    ...Object.entries(RISKS).map(
      ([id, { what, stopsStart }]) => `| \`${id}\` | ${what} | ${stopsStart ? 'stops the start' : 'a warning'} |`,
    ),
    '',
  ].join('\n');
}
