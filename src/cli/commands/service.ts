// the command line of this installation -> a unit of systemd for this user -> systemctl --user
import { spawn } from 'node:child_process';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { errorText, GatehouseError } from '../../core/errors.ts';
import { isErrno } from '../../lib/errno.ts';
import { type Command, type CommandContext, dataDirOf, readConfig } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { environmentFile, unseenVariables } from './service-variables.ts';

const UNIT = 'gatehouse.service';
const NO_SYSTEMD = 'start `gatehouse gateway` with what this system has (on macOS a launchd agent); docs/service.md';

export interface InstallOptions {
  readonly dryRun?: boolean;
  /** Replace a unit that reads otherwise. */
  readonly force?: boolean;
}

/**
 * Writes the unit, enables it and starts it; with `force` one that reads otherwise is replaced, and the
 * service restarted. With `dryRun` it prints the unit and changes nothing. Exit code 4 where there is a unit
 * that reads otherwise.
 */
export const serviceInstall: Command<InstallOptions> = async (context, { dryRun = false, force = false }) => {
  const { out } = context;
  const file = unitFile(context);
  const loaded = await readConfig(context);
  const { file: config } = loaded;
  const text = unitText(context, config);
  const warn = out.mark('warn', 'stderr');
  if (config === undefined) out.say(`${warn} there is no config file: the service goes by the defaults`);
  const unseen = await unseenVariables(context, loaded.config);
  if (unseen.length > 0)
    out.say(
      `${warn} the service does not see what this shell has in ${unseen.join(', ')} → gatehouse auth set-key NAME, or lines in ${environmentFile(context)}`,
    );
  if (dryRun) {
    out.data(text.trimEnd());
    out.document({ dryRun, file, unit: text, changed: false });
    return EXIT.ok;
  }
  await mustBeBuilt(context);
  await mustHaveSystemd(context);
  const before = await unitOnDisk(file);
  if (before !== undefined && before !== text && !force) {
    const hint =
      'keep your changes with `systemctl --user edit gatehouse`, and replace the file with `gatehouse service install --force`';
    out.fail({ code: 'GH1005', message: `${file} is there already and reads otherwise`, hint }, { file });
    return EXIT.refused;
  }
  await mkdir(dirname(file), { recursive: true });
  if (before !== undefined && before !== text) await writeFile(`${file}.bak`, before);
  // Also where it reads alike: an earlier try may have ended between the file and the restart.
  const isReplaced = before !== undefined && force;
  await writeFile(file, text);
  await systemctl(context, 'daemon-reload');
  if (isReplaced) {
    await systemctl(context, 'enable', UNIT);
    // `--now` starts nothing that runs, and a process keeps the command line of the old unit.
    await systemctl(context, 'restart', UNIT);
  } else await systemctl(context, 'enable', '--now', UNIT);
  out.data(`${out.mark('ok')} the service ${isReplaced ? 'was restarted and ' : ''}runs: ${file}`);
  out.say('→ loginctl enable-linger, so that it goes on after you log out');
  out.document({ dryRun, file, unit: text, changed: true });
  return EXIT.ok;
};

/** Stops the service and removes its unit. The data directory stays. */
export const serviceUninstall: Command<{ readonly dryRun?: boolean }> = async (context, { dryRun = false }) => {
  const { out } = context;
  const file = unitFile(context);
  const exists = (await unitOnDisk(file)) !== undefined;
  if (exists && !dryRun) {
    await mustHaveSystemd(context);
    await systemctl(context, 'disable', '--now', UNIT);
    await rm(file, { force: true });
    await systemctl(context, 'daemon-reload');
  }
  if (!exists) out.data('no service is installed');
  else out.data(dryRun ? `would stop ${UNIT} and remove ${file}` : `${out.mark('ok')} the service is removed`);
  out.document({ dryRun, file, changed: exists && !dryRun });
  return EXIT.ok;
};

/** Exit code 3 while the service does not run. */
export const serviceStatus: Command<unknown> = async (context) => {
  const { out } = context;
  const file = unitFile(context);
  if ((await unitOnDisk(file)) === undefined) {
    const hint = 'install it with `gatehouse service install`';
    out.fail({ code: 'GH1002', message: 'no service is installed', hint }, { file, installed: false });
    return EXIT.notRunning;
  }
  await mustHaveSystemd(context);
  const { text } = await run(context, ['is-active', UNIT]);
  const state = text.trim() || 'unknown';
  if (state !== 'active') {
    const hint = `see \`journalctl --user -u ${UNIT}\``;
    out.fail({ code: 'GH1002', message: `the service is ${state}`, hint }, { file, installed: true, state });
    return EXIT.notRunning;
  }
  out.data(`${out.mark('ok')} the service is ${state}: ${file}`);
  out.document({ file, installed: true, state });
  return EXIT.ok;
};

/** A unit whose program is missing would be started again and again. */
async function mustBeBuilt({ deps }: CommandContext): Promise<void> {
  const main = mainOf(deps);
  if (
    await stat(main).then(
      (it) => it.isFile(),
      () => false,
    )
  )
    return;
  throw new GatehouseError('GH1004', `${main}, which the service would start, is not there`, {
    hint: 'in a checkout run `npm run build` first',
  });
}

function mainOf(deps: CommandContext['deps']): string {
  return join(deps.packageRoot, 'dist/src/cli/main.js');
}

function unitFile({ deps }: CommandContext): string {
  return join(deps.env['XDG_CONFIG_HOME'] || join(deps.home, '.config'), 'systemd/user', UNIT);
}

async function unitOnDisk(file: string): Promise<string | undefined> {
  return await readFile(file, 'utf8').catch((error: unknown) => {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  });
}

/**
 * What gatehouse.service and gatehouse-tools.service have: in the unit of a user, programs of tools run
 * beside the daemon. So there is no MemoryHigh, which slows down all of a unit, and a program that takes too
 * much is killed alone (OOMPolicy), where systemd would end the unit. The daemon's heap has its own bound.
 */
const DAEMON_MIB = 1_536;
const PROGRAMS_MIB = 4_096;

function unitText(context: CommandContext, config: string | undefined): string {
  const { deps } = context;
  const main = mainOf(deps);
  const flags = ['--data-dir', resolve(deps.cwd, dataDirOf(context)), ...(config ? ['--config', resolve(deps.cwd, config)] : [])];
  const node = [process.execPath, '--max-old-space-size=768', '--min-semi-space-size=4', '--max-semi-space-size=16', main];
  const packages = deps.env['GATEHOUSE_PACKAGES'];
  return `[Unit]
Description=Gatehouse: an AI agent behind every messaging channel

[Service]
Type=notify
NotifyAccess=all
WatchdogSec=90
TimeoutStartSec=10min
ExecStart=${[...node, 'gateway', ...flags].map(unitWord).join(' ')}
ExecReload=/bin/kill -HUP $MAINPID
EnvironmentFile=-%E/gatehouse/environment
${packages ? `Environment=${unitWord(`GATEHOUSE_PACKAGES=${resolve(deps.cwd, packages)}`)}\n` : ''}UMask=0077
Restart=on-failure
RestartSec=2
RestartPreventExitStatus=78
KillMode=mixed
TimeoutStopSec=20
MemoryMax=${DAEMON_MIB + PROGRAMS_MIB}M
OOMPolicy=continue

[Install]
WantedBy=default.target
`;
}

/** One word of a unit file: quoted, and without what systemd would replace. */
function unitWord(word: string): string {
  if (/\p{Cc}/u.test(word))
    throw new GatehouseError('GH1001', 'a path with a line break or another control character cannot stand in a unit', {
      hint: 'name another directory with --data-dir',
    });
  const plain = word.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[\w@%+=:,./-]+$/.test(plain) ? plain : `"${plain.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

/** Throws GH1107 where there is none to install a service in. */
export async function mustHaveSystemd(context: CommandContext): Promise<void> {
  const { code, text } = await run(context, ['show-environment']);
  if (code !== 0)
    throw new GatehouseError(
      'GH1107',
      `systemd does not serve this user: ${text.trim().split('\n').at(-1) || `systemctl ended with ${code}`}`,
      {
        hint: NO_SYSTEMD,
      },
    );
}

async function systemctl(context: CommandContext, ...args: readonly string[]): Promise<void> {
  const { code, text } = await run(context, args);
  if (code !== 0)
    throw new GatehouseError('GH1107', `systemctl --user ${args.join(' ')} ended with ${code}: ${text.trim()}`, {
      hint: `see \`journalctl --user -u ${UNIT}\``,
    });
}

/** `TimeoutStopSec` and `TimeoutStartSec` of the unit, and some time for systemd. ms. */
const START_MS = 640_000;
const ASK_MS = 60_000;

const PASSED_ON = ['PATH', 'HOME', 'XDG_RUNTIME_DIR', 'XDG_CONFIG_HOME', 'DBUS_SESSION_BUS_ADDRESS'];

async function run(
  { deps }: CommandContext,
  args: readonly string[],
): Promise<{ readonly code: number | null; readonly text: string }> {
  const env = Object.fromEntries(PASSED_ON.flatMap((name) => (deps.env[name] ? [[name, deps.env[name]]] : [])));
  const timeout = args.includes('restart') || args.includes('--now') ? START_MS : ASK_MS;
  const child = spawn('systemctl', ['--user', ...args], { env, stdio: ['ignore', 'pipe', 'pipe'], timeout });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      text += String(chunk);
    });
  return await new Promise((done, reject) => {
    child.once('error', (error) => {
      reject(new GatehouseError('GH1107', `there is no systemd here: ${errorText(error)}`, { hint: NO_SYSTEMD, cause: error }));
    });
    child.once('close', (code) => done({ code, text }));
  });
}
