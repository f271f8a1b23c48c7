import { realpath, stat } from 'node:fs/promises';
import { ConfigError } from '../../../config/problem.ts';
import { isGatehouseError } from '../../core/errors.ts';
import { counted } from '../../lib/counted.ts';
import { printable } from '../../lib/printable.ts';
import { limitsOf } from '../limits-of.ts';
import { shellWord } from '../shell-word.ts';
import { bad, type Check, ok, type Scene, skip, warn } from './check.ts';

/** Ids of `config/check-security.ts` stand at the end of its messages. */
const RISK = / \[[a-z-]+\]$/;

const risksOf = ({ loaded }: Scene) => (loaded?.warnings ?? []).filter(({ message }) => RISK.test(message));

export const configFile: Check = {
  id: 'config',
  title: 'The config can be used, and every key of it is known.',
  async run(scene) {
    const { loaded, problem } = scene;
    if (problem instanceof ConfigError) {
      const [first] = problem.problems.filter(({ severity }) => severity === 'error');
      return bad(`${problem.file ?? 'the config'}${place(first?.line)}: ${first?.message ?? ''}`, 'gatehouse config check');
    }
    if (problem) return bad(problem.message, isGatehouseError(problem) ? problem.hint : 'gatehouse config check');
    const others = (loaded?.warnings ?? []).filter(({ message }) => !RISK.test(message));
    const [first] = others;
    if (first) return warn(`${counted(others.length, 'warning')}: ${first.path}: ${first.message}`, 'gatehouse config check');
    return ok(loaded?.file ?? 'no file: the defaults apply');
  },
};

function place(line: number | undefined): string {
  return line === undefined ? '' : `:${line}`;
}

export const sameConfig: Check = {
  id: 'config-in-use',
  title: 'The config that is judged here is the one that the running daemon uses.',
  async run({ daemon, loaded, problem }) {
    const used = daemon.kind === 'up' ? daemon.status.config : undefined;
    if (!used) return skip('no daemon runs that tells its config');
    const judged = loaded?.file ?? (problem instanceof ConfigError ? problem.file : undefined);
    const file = used.file === undefined ? undefined : printable(used.file);
    if ((await placeOf(used.file)) === (await placeOf(judged))) return ok(file ?? 'no file: the defaults apply');
    const text = `the daemon uses ${file ?? 'no config file'}, and judged here is ${judged ?? 'no file, but the defaults'}`;
    if (used.file !== undefined && (await isFile(used.file)))
      return warn(text, `gatehouse doctor --config ${shellWord(used.file)}`);
    // What it was started with cannot be read again.
    const flag = judged === undefined ? '' : ` --config ${shellWord(judged)}`;
    return warn(text, `restart the daemon with the config that you mean: gatehouse gateway${flag}`);
  },
};

/** Two names may lead to one file. */
async function placeOf(path: string | undefined): Promise<string | undefined> {
  return path === undefined ? undefined : await realpath(path).catch(() => path);
}

async function isFile(path: string): Promise<boolean> {
  return await stat(path).then(
    (about) => about.isFile(),
    () => false,
  );
}

export const security: Check = {
  id: 'security',
  title: 'The config leaves no door open that it could close.',
  async run(scene) {
    if (!scene.loaded) return skip('the config cannot be used');
    const risks = risksOf(scene);
    const [first] = risks;
    if (!first) return ok('nothing is found');
    return warn(`${counted(risks.length, 'danger')}: ${first.path}: ${first.message}`, 'gatehouse doctor security');
  },
};

export const ownerCheck: Check = {
  id: 'owner',
  title: 'The config names a chat of yours, where you are asked and told of trouble.',
  async run({ loaded }) {
    const { channels = [], owner = [] } = loaded?.config.gateway ?? {};
    if (channels.every(({ type }) => type === 'cli')) return skip('the terminal is the only channel');
    const fix = 'add "gateway": { "owner": [{ "channel": "…", "chat_id": "…" }] } with your own chat';
    return owner.length > 0 ? ok(owner.map(({ channel }) => channel).join(', ')) : warn('no one is told of trouble', fix);
  },
};

export const budgetCheck: Check = {
  id: 'budget',
  title: 'There is a limit on what models may cost.',
  async run({ context, loaded }) {
    if (!loaded) return skip('the config cannot be used');
    const { config } = loaded;
    if (config.gateway.channels.every(({ type }) => type === 'cli')) return skip('only you can write to it');
    const { dailyUsd } = await limitsOf(context, config);
    if (dailyUsd !== undefined) return ok(`${dailyUsd} USD a day`);
    return warn(
      'nothing limits what a day may cost',
      'add "budget": { "daily_usd": 2 }, and where `gatehouse models list` shows no price, that of the model in "model_hints"',
    );
  },
};
