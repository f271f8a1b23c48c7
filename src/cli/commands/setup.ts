import { access, chmod, constants, copyFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorText, GatehouseError, isGatehouseError } from '../../core/errors.ts';
import { openAuthStore } from '../../lib/auth/store.ts';
import { isErrno } from '../../lib/errno.ts';
import { printable } from '../../lib/printable.ts';
import { entryOfVariable } from '../../lib/stored-variables.ts';
import { resolveProvider } from '../../llm/providers/resolve.ts';
import { type Command, type CommandContext, dataDirOf, mustWriteHere, readConfig } from '../context.ts';
import { askDaemon } from '../daemon-status.ts';
import { EXIT } from '../exit-codes.ts';
import { PROVIDER_NAMES } from './config.ts';
import { renderConfig, writeSetup } from './init.ts';
import { testEntry } from './models-test.ts';
import {
  formOf,
  type Given,
  givenBot,
  isTerminal,
  mustBeAnswered,
  OTHER_CHANNELS,
  prompts,
  providerOfKey,
  type SetupOptions,
  secret,
} from './setup-answers.ts';
import { limitPart, limitText, type PaidModel, paidModelOf } from './setup-limit.ts';
import { askOwner, type Bot, configWith, type Owner, remember, settingsOf } from './setup-owner.ts';

/** The provider refused the key. */
const WRONG_KEY = 'GH2101';
const PATIENCE_MS = 30_000;
const TRIES = 3;

interface Model extends PaidModel {
  readonly provider: string;
  readonly key: string;
}

/**
 * Three steps on a terminal: the key of a model, the token of a bot, and who its owner is. Each is tried for
 * real before anything is written; Enter leaves one out. What is given as a flag is not asked, so a script
 * needs no terminal. Exit code 4 where a config is there, 1 when a step did not come to an end, 130 at
 * Ctrl-C: then nothing was written.
 */
export const setup: Command<SetupOptions> = async (context, options) => {
  const { deps, out } = context;
  mustWriteHere(context, 'setup');
  mustBeAnswered(context, options);
  await mustBeFree(context);
  await mustBeAddress(context, options);
  const file = join(deps.cwd, '.gatehouse', 'config.json');
  // One that is to be replaced need not be right.
  const before = options.force === true ? undefined : (await readConfig(context)).file;
  if (before !== undefined) {
    out.fail({
      code: 'GH1005',
      message: `${before} is there already`,
      hint: 'change it, see what is wrong with `gatehouse doctor`, or replace ./.gatehouse/config.json with `gatehouse setup --force`, which keeps a copy',
    });
    return EXIT.refused;
  }
  if (options.service === true) await (await import('./service.ts')).mustHaveSystemd(context);
  const given = await givenBot(context, options);
  if (isTerminal(context)) out.say('Three steps; Enter leaves one out. Nothing is written before it works.\n');
  const model = await askModel(context, options);
  const paid = model ?? paidModelOf(modelPart(undefined, options), deps.env);
  const bot = await askBot(context, options, given);
  const owner = bot ? await askOwner(context, bot, options) : undefined;
  const config = renderConfig({
    ...modelPart(model, options),
    ...limitPart(paid),
    channels: channelsOf(bot, owner, options),
    ...ownerPart(owner),
  });
  // What the daemon would refuse is not written.
  await readConfig(
    { ...context, globals: { ...context.globals, config: file } },
    { providers: PROVIDER_NAMES, bytes: Buffer.from(config) },
  );
  await store(context, model, bot);
  const copy = await keepCopy(file);
  await writeSetup(deps, file, config);
  if (copy !== undefined) out.say(`\n   what ${file} was is in ${copy}`);
  if (owner) await remember(context, owner);
  out.say(
    `\n${out.mark('ok', 'stderr')} wrote ${file}${model || bot ? `, secrets in ${join(dataDirOf(context), 'auth.json')}` : ''}`,
  );
  if (paid) out.say(`   ${limitText(paid)}`);
  return await start(withoutOther(context, bot), options);
};

/** What is exported wins over what is stored: a start from here is to be that of the bot that was tried. */
function withoutOther(context: CommandContext, bot: Bot | undefined): CommandContext {
  const { deps, out } = context;
  const exported = bot && deps.env[bot.variable];
  if (!exported || exported === bot.token) return context;
  const what = `${bot.variable} is exported as well, with another token, which a later start from this shell would use: unset it`;
  out.say(`${out.mark('warn', 'stderr')} ${what}`);
  return { ...context, deps: { ...deps, env: { ...deps.env, [bot.variable]: undefined } } };
}

/** Before a key is asked for, and sent there. Rejects with GH1101 for what no config takes. */
async function mustBeAddress(context: CommandContext, { baseUrl }: SetupOptions): Promise<void> {
  if (baseUrl === undefined) return;
  const bytes = Buffer.from(JSON.stringify({ version: 1, base_url: baseUrl }));
  await readConfig({ ...context, globals: { ...context.globals, config: 'setup.json' } }, { bytes });
}

/** The name of the copy; undefined where there is no file. A copy that is there already stays. */
async function keepCopy(file: string): Promise<string | undefined> {
  for (let n = 0; ; n += 1) {
    const copy = n === 0 ? `${file}.bak` : `${file}.bak.${n}`;
    try {
      await copyFile(file, copy, constants.COPYFILE_EXCL);
      await chmod(copy, 0o600);
      return copy;
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return undefined;
      if (!isErrno(error, 'EEXIST')) throw error;
    }
  }
}

const WAYS = [
  { value: 'here', label: 'here', letter: 'y' },
  { value: 'service', label: 'as a service', letter: 's' },
  { value: 'no', label: 'no', letter: 'n' },
] as const;

async function start(context: CommandContext, { service }: SetupOptions): Promise<number> {
  const way = service === true ? 'service' : isTerminal(context) ? await chosenWay(context) : 'no';
  if (way === 'service') {
    const { serviceInstall } = await import('./service.ts');
    return await serviceInstall(context, {});
  }
  if (way === 'no') {
    context.out.say('→ gatehouse gateway');
    return EXIT.ok;
  }
  const { gateway } = await import('./gateway.ts');
  return await gateway(context, {});
}

/** Who leaves here has what was asked for: it is written. */
async function chosenWay(context: CommandContext): Promise<(typeof WAYS)[number]['value']> {
  return await prompts(context)
    .choose('Start it now?', WAYS)
    .catch((error: unknown) => {
      if (isGatehouseError(error) && ['GH1001', 'GH1010'].includes(error.code)) return 'no';
      throw error;
    });
}

/** Before the first question: what would make all answers vain. */
async function mustBeFree(context: CommandContext): Promise<void> {
  const dataDir = dataDirOf(context);
  const daemon = await askDaemon(dataDir);
  if (daemon.kind === 'up')
    throw new GatehouseError('GH1201', `gatehouse runs here already (pid ${daemon.status.pid}), and holds its bots`, {
      hint: 'stop it, or give this one its own `--data-dir`',
    });
  for (const dir of [context.deps.cwd, await nearest(dataDir)]) {
    await access(dir, constants.W_OK).catch((error: unknown) => {
      throw new GatehouseError('GH1202', `${dir} cannot be written: ${errorText(error)}`, {
        hint: 'change to a directory of yours, or name another `--data-dir`',
        cause: error,
      });
    });
  }
}

/** The directory, or the first one above it that is there. */
async function nearest(dir: string): Promise<string> {
  const isThere = await access(dir).then(
    () => true,
    () => false,
  );
  return isThere || dirname(dir) === dir ? dir : await nearest(dirname(dir));
}

/** A real call with a token or two of answer. */
async function askModel(context: CommandContext, options: SetupOptions): Promise<Model | undefined> {
  const { deps, out } = context;
  const prompt = '1. Key of a model provider (not shown; Enter: what is found at each start)';
  const tried = options.keyFile === undefined ? TRIES : 1;
  let last = '';
  for (let tries = 0; tries < tried; tries += 1) {
    const key = await secret(context, prompt, 'gatehouse auth set-key PROVIDER < key.txt', options.keyFile);
    if (key === '') return undefined;
    const provider = providerOfKey(key, options);
    try {
      const target = resolveProvider({ ...modelPart(undefined, options), provider }, deps.env);
      out.say(`   asking ${provider}/${target.model} …`);
      const limits = { connectMs: PATIENCE_MS, totalMs: PATIENCE_MS };
      const found = { from: 'setup', value: () => key };
      const { failure } = await testEntry({ entry: { name: 'main', target, key: found } }, deps, limits);
      if (!failure) {
        out.say(`   ${out.mark('ok', 'stderr')} it answers`);
        return { provider, key, hasPrice: target.facts.price !== null };
      }
      last =
        failure.code === WRONG_KEY
          ? `check the key: it is taken for one of ${provider}${options.baseUrl === undefined ? '; name another with --provider' : ''}`
          : failure.hint;
      out.say(`   ${out.mark('bad', 'stderr')} ${failure.code} ${printable(failure.message)} → ${printable(last)}`);
    } catch (error) {
      if (!isGatehouseError(error)) throw error;
      last = error.hint;
      out.say(`   ${out.mark('bad', 'stderr')} ${error.code} ${printable(error.message)} → ${printable(last)}`);
    }
  }
  throw new GatehouseError('GH1001', `no model answered${triesText(tried)}; nothing was written`, { hint: printable(last) });
}

/** Connects with the token, as the daemon would. */
async function askBot(context: CommandContext, options: SetupOptions, given: Given | undefined): Promise<Bot | undefined> {
  const { deps, out } = context;
  const prompt = '2. Token of a Telegram or Discord bot (not shown; Enter: only this terminal)';
  const tried = given ? 1 : TRIES;
  for (let tries = 0; tries < tried; tries += 1) {
    const token = given?.token ?? (await secret(context, prompt, 'gatehouse auth set-key telegram < token.txt', undefined));
    if (token === '') return undefined;
    const form = given ?? formOf(token);
    if (!form) {
      out.say(`   ${out.mark('bad', 'stderr')} that is no token of Telegram or Discord → ${OTHER_CHANNELS}`);
      continue;
    }
    const { type, variable } = form;
    out.say(`   connecting to ${type} …`);
    const config = await configWith(context, [{ type, settings: settingsOf(type, options) }]);
    const env = { ...deps.env, [variable]: token };
    const [status] = await deps.tryChannels({ config, dataDir: dataDirOf(context), env, timeoutMs: PATIENCE_MS });
    if (status?.state === 'healthy') {
      out.say(`   ${out.mark('ok', 'stderr')} connected as ${printable(status.account)}`);
      return { type, variable, token, account: status.account };
    }
    out.say(`   ${out.mark('bad', 'stderr')} ${printable(status?.detail ?? 'it does not connect')}`);
  }
  throw new GatehouseError('GH1001', `no token worked${triesText(tried)}; nothing was written`, {
    hint: 'see the page of the channel in channels/README.md',
  });
}

function triesText(tries: number): string {
  return tries === 1 ? '' : ` in ${tries} tries`;
}

function channelsOf(bot: Bot | undefined, owner: Owner | undefined, options: SetupOptions): readonly unknown[] {
  if (!bot) return [{ type: 'cli' }];
  const allowed = owner ? [owner.senderId] : [];
  return [{ type: 'cli' }, { type: bot.type, allowed_senders: allowed, settings: settingsOf(bot.type, options) }];
}

function ownerPart(owner: Owner | undefined): object {
  if (!owner) return {};
  return { owner: [{ channel: owner.channel, chat_id: owner.chatId, sender_ids: [owner.senderId] }] };
}

function modelPart(
  model: Model | undefined,
  { provider: named, model: name, baseUrl }: SetupOptions,
): { provider?: string; model?: string; base_url?: string } {
  const provider = model?.provider ?? named;
  return {
    ...(provider === undefined ? {} : { provider }),
    ...(name === undefined ? {} : { model: name }),
    ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
  };
}

async function store(context: CommandContext, model: Model | undefined, bot: Bot | undefined): Promise<void> {
  if (!model && !bot) return;
  await using logins = openAuthStore({ dir: dataDirOf(context), clock: context.deps.clock });
  const keep = (provider: string, accessToken: string) =>
    logins.set({ provider, accessToken, authMethod: 'paste_token' }, new AbortController().signal);
  if (model) await keep(model.provider, model.key);
  if (bot) await keep(entryOfVariable(bot.variable) ?? '', bot.token);
}
