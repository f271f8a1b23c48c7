import { errorText, isGatehouseError } from '../../core/errors.ts';
import { counted } from '../../lib/counted.ts';
import { deniedError } from '../../lib/denied.ts';
import { modelEntries } from '../commands/models-entries.ts';
import { book, testEntry } from '../commands/models-test.ts';
import { envOf } from '../context.ts';
import { detailText } from '../format-channel.ts';
import { failingFix, failingText, NAME_A_MODEL, troublesOf } from '../troubles.ts';
import { bad, type Check, type Diagnosis, ok, type Scene, skip, warn } from './check.ts';

/** `doctor` ends within three seconds; what takes longer is named. ms. */
const PATIENCE_MS = 2_500;

export const models: Check = {
  id: 'models',
  title: 'Each model of the config answers a short question (a token or two are paid).',
  async run(scene) {
    const { context, loaded, daemon, isOffline } = scene;
    if (!loaded) return skip('the config cannot be used');
    if (isOffline) return skip('--offline');
    const entries = await modelEntries(loaded, context);
    if (entries.length === 0) return warn('no model: the demo answers', NAME_A_MODEL);
    const health = daemon.kind === 'up' ? daemon.status.modelHealth : undefined;
    const failing = health && failingText(health, context.deps.clock.now());
    if (health && failing !== undefined) return bad(failing, failingFix(health));
    const timeouts = { connectMs: PATIENCE_MS, totalMs: PATIENCE_MS };
    const tested = await Promise.all(entries.map((entry) => testEntry({ entry }, context.deps, timeouts)));
    // Why a journal cannot be written is told by the check of that name; the model answered all the same.
    await book(tested, context).catch(() => undefined);
    const failed = tested.find(({ failure }) => failure);
    if (!failed?.failure) return ok(`${counted(tested.length, 'model')} answered`);
    const { code, message, hint } = failed.failure;
    return bad(`${failed.entry.name}: ${code} ${message}`, hint);
  },
};

export const channels: Check = {
  id: 'channels',
  title: 'Each channel of the config connects with its token.',
  async run(scene) {
    const { context, loaded, dataDir, daemon, isOffline } = scene;
    if (!loaded) return skip('the config cannot be used');
    const { config } = loaded;
    if (config.gateway.channels.every(({ type }) => type === 'cli')) return skip('the terminal is the only channel');
    const trying = { config, dataDir, env: await envOf(context), timeoutMs: PATIENCE_MS };
    if (daemon.kind === 'down' && isOffline) return skip('--offline');
    const states = daemon.kind === 'up' ? daemon.status.channels : await context.deps.tryChannels(trying);
    const wrong = states.filter(({ state }) => state !== 'healthy');
    const [first] = wrong;
    if (!first) return ok(`${counted(states.length, 'channel')} connected`);
    const text = `${first.name} is ${first.state}: ${detailText(first) || `it did not connect within ${PATIENCE_MS / 1_000} s`}`;
    return bad(text, `gatehouse channels test ${first.name}`);
  },
};

export const running: Check = {
  id: 'running',
  title: 'The running daemon has no trouble that the other lines do not tell.',
  async run(scene) {
    return troubles(scene);
  },
};

/** What has a line of its own. */
const TOLD = /^(?:model|channel|messages|clock|config)(?::|$)/;

function troubles({ daemon, context }: Scene): Diagnosis {
  if (daemon.kind === 'down') return skip('no daemon runs');
  const found = troublesOf(daemon.status, context.deps.clock.now()).filter(({ id }) => !TOLD.test(id));
  const [first] = found;
  if (!first) return ok('none');
  const more = found.length === 1 ? '' : ` (and ${found.length - 1} more)`;
  return (first.isBad ? bad : warn)(`${first.text}${more}`, first.fix);
}

/** What a check that rejects comes to: it must not hide what the others found. */
export function broke(error: unknown): Diagnosis {
  const kept = isGatehouseError(error) ? error : deniedError(error);
  if (kept) return bad(kept.message, kept.hint);
  return bad(`could not be looked at: ${errorText(error)}`, 'run again with `-v`, and report what it prints');
}
