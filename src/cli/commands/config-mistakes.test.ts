// Mistakes that people make in a config: each is refused, or warned of, with its line and the repair; or
// taken for a reason.
import { copyFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CHANNELS } from '../../../channels/registry.ts';
import { packageRoot } from '../../lib/package-info.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';

const DIR = join(packageRoot(), 'config/fixtures/mistakes');

interface Said {
  /** What is said of it; the place `:line:col` stands before. */
  readonly says: RegExp;
  readonly place?: string;
  /** Warned of, and taken. Default: refused. */
  readonly isWarning?: true;
}

const refused = (place: string, says: RegExp): Said => ({ place, says });
const warned = (place: string, says: RegExp): Said => ({ place, says, isWarning: true });

const MISTAKES: Readonly<Record<string, Said>> = {
  '01-wrong-type': refused('17:20', /max_history: must be a number/),
  '02-unknown-key': warned('18:3', /colour: unknown key, ignored[\s\S]*known here/),
  '03-typo': warned('17:5', /did you mean "max_history"\?/),
  '04-typo-channel-type': refused('8:17', /did you mean "telegram"\?/),
  '05-trailing-comma': refused('5:24', /no trailing commas: remove it/),
  '06-comment': refused('2:3', /remove the comment/),
  '08-dup-channel': refused('16:7', /give each channel of the same type its own "name"/),
  '09-port-big': refused('19:15', /must be at most 65535/),
  '10-port-string': refused('18:15', /remove the double quotes/),
  '12-bad-json': refused('1:61', /is a comma missing before this\?/),
  '14-crlf': warned('17:5', /did you mean "max_history"\?/),
  '15-yaml': refused('1:1', /expected a value/),
  '16-empty': refused('1:1', /an empty config is written \{\}/),
  '17-array': refused('1:1', /must be an object in \{ \}/),
  '19-version-99': refused('2:14', /upgrade gatehouse, or use the config of this version/),
  '20-token-inline': warned('13:11', /settings\.token: unknown key[\s\S]*token_env/),
  '21-token-in-env-field': refused('13:24', /the name of an environment variable, not the secret itself/),
  '22-senders-number': refused('10:11', /put it in double quotes: "123456789"/),
  '23-senders-string': refused('9:28', /must be a list in \[ \]/),
  '24-bad-provider': refused('3:15', /did you mean "openai"\?/),
  '25-unknown-model': warned('4:12', /not in the catalog: its window and price are guesses; see `gatehouse models catalog`/),
  '26-budget-negative': refused('19:18', /must be at least 0/),
  '27-budget-string': refused('19:18', /must be a number/),
  '28-owner-nochannel': refused('19:20', /must be one of: telegram/),
  '29-bad-regex': refused('16:11', /must be a regular expression/),
  '30-enum': refused('15:23', /did you mean "mention"\?/),
  '31-channels-object': refused('6:17', /must be a list in \[ \]/),
  '32-channels-toplevel': warned('3:3', /"channels" belongs under "gateway"/),
  '33-single-quotes': refused('1:3', /replace ' with "/),
  '34-smart-quotes': refused('1:3', /replace “ ” with "/),
  '35-utf16': { says: /not valid UTF-8[\s\S]*save it as UTF-8/ },
  '36-dup-key': refused('4:3', /the key "model" is written twice[\s\S]*keep one/),
  '37-many': refused('22:5', /dayly_usd: unknown key: no limit is set by it/),
  '38-latin1': { says: /not valid UTF-8[\s\S]*save it as UTF-8/ },
  '39-env-unset-expand': warned('17:22', /export TEAM=…, or write \$\{TEAM:-default\}/),
  '40-null': refused('17:20', /must be a number/),
  '41-price-oddity': refused('19:5', /provider: is missing/),
  '42-key-in-env-field': refused('1:48', /the name of an environment variable, not the secret itself/),
  '43-tokens-in-env-fields': refused('1:96', /the name of an environment variable, not the secret itself/),
};

const TAKEN: Readonly<Record<string, string>> = {
  '07-env-missing': 'the file may be checked elsewhere than where the environment is; `channels test` and `doctor` try the token',
  '11-model-no-provider': 'the catalog knows whose model it is',
  '13-bom': 'editors of Windows write one, and it changes nothing',
  '18-no-version': 'the version of this program is meant',
};

async function check(name: string, ...flags: string[]) {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.channels = Object.fromEntries(Object.entries(CHANNELS).map(([type, load]) => [type, async () => (await load()).settings]));
  cli.env = { OPENAI_API_KEY: 'sk-test' };
  await cli.write('.gatehouse/x', '');
  await copyFile(join(DIR, `${name}.json`), join(dir.path, '.gatehouse/config.json'));
  return await cli.run('config', 'check', ...flags);
}

test.each(Object.entries(MISTAKES))('%s is told with its line and the repair', async (name, { place, says, isWarning }) => {
  const { code, stderr } = await check(name);
  expect(code).toBe(isWarning ? 0 : 78);
  expect(stderr).toMatch(says);
  if (place !== undefined) expect(stderr).toContain(`config.json:${place}: `);
  expect(stderr).not.toMatch(/sk-proj-abcdef|xoxb-123-abc/);
  if (isWarning) expect((await check(name, '--strict')).code).toBe(78);
});

test.each(Object.keys(TAKEN))('%s is taken', async (name) => {
  const { code, stdout } = await check(name);
  expect([code, stdout]).toEqual([0, expect.stringContaining('is valid')]);
});

test('each of the mistakes is in one of the tables', async () => {
  const files = (await readdir(DIR)).map((file) => file.replace('.json', ''));
  expect(files.toSorted()).toEqual([...Object.keys(MISTAKES), ...Object.keys(TAKEN)].toSorted());
});
