import { GatehouseError } from '../../core/errors.ts';
import type { ChannelStatus } from '../../core/turn.ts';
import { printable } from '../../lib/printable.ts';
import { type Command, type CommandContext, dataDirOf, envOf, readConfig, sayWarnings } from '../context.ts';
import { askDaemon, notRunning } from '../daemon-status.ts';
import { EXIT } from '../exit-codes.ts';
import { CHANNEL_MARKS, channelCells, channelDocument, detailText, guarantee, wayOut } from '../format-channel.ts';
import { formatTable, type Output } from '../output.ts';

/**
 * The channels of the running daemon, one line each. Exit code 3 when none runs, 1 when a channel is down, 78
 * when the named config cannot be used. A config that is found counts only while no daemon runs: a daemon
 * goes on with the last good one.
 */
export const channelsStatus: Command<unknown> = async (context) => {
  const { out, globals } = context;
  const daemon = await askDaemon(dataDirOf(context));
  if (daemon.kind === 'down' || globals.config !== undefined) sayWarnings(context, await readConfig(context));
  if (daemon.kind === 'down') {
    const { hint, ...failure } = notRunning(daemon);
    out.fail({ ...failure, hint: `${hint}, or see \`gatehouse channels test\`` });
    return EXIT.notRunning;
  }
  return report(context, daemon.status.channels, true);
};

/**
 * Connects each channel of the config once, taking no message. A running daemon holds those connections, so
 * then its word is shown. Exit code 1 when one does not work.
 */
export const channelsTest: Command<{ readonly name?: string }> = async (context, { name }) => {
  const { deps, out } = context;
  const loaded = await readConfig(context);
  sayWarnings(context, loaded);
  const dataDir = dataDirOf(context);
  const daemon = await askDaemon(dataDir);
  if (daemon.kind === 'up') {
    out.say('a daemon runs and holds the connections: this is how its channels are');
    out.say('a token that was stored after its start is used, and tested, only after a restart of it');
    const channels = daemon.status.channels.filter((channel) => name === undefined || channel.name === name);
    if (name !== undefined && channels.length === 0) throw noSuch(name);
    return report(context, channels, true);
  }
  if (loaded.config.gateway.channels.some(({ type }) => type !== 'cli')) out.say('connecting …');
  const options = { config: loaded.config, dataDir, env: await envOf(context), ...(name === undefined ? {} : { name }) };
  return report(context, await deps.tryChannels(options), false);
};

function noSuch(name: string): GatehouseError {
  return new GatehouseError('GH1003', `the daemon has no channel ${printable(name.slice(0, 80))}`, {
    hint: 'see `gatehouse channels status`',
  });
}

function report({ deps, out }: CommandContext, channels: readonly ChannelStatus[], running: boolean): number {
  const now = deps.clock.now();
  if (channels.length === 0) out.told('no channel besides the terminal is configured: `gatehouse init` adds one');
  else out.data(formatTable(channels.map((channel) => row(channel, { out, now, running }))));
  const bad = channels.filter(({ state }) => state === 'down' || (!running && state !== 'healthy'));
  const documents = channels.map(channelDocument);
  if (bad.length === 0) {
    out.document({ channels: documents });
    return EXIT.ok;
  }
  const code = /GH\d{4}/.exec(bad[0]?.detail ?? '')?.[0] ?? 'GH1502';
  const message = `${bad.length} of ${channels.length} channels ${bad.length === 1 ? 'does' : 'do'} not work`;
  const mend = bad.map(wayOut).find((hint) => hint !== undefined);
  out.fail({ code, message, hint: mend ?? `run \`gatehouse explain ${code}\`` }, { channels: documents });
  return EXIT.failed;
}

function row(channel: ChannelStatus, { out, now, running }: { out: Output; now: number; running: boolean }): string[] {
  const { name, account, state } = channel;
  // One that was only tried has taken nothing.
  const tried = [name, state, account || '-', guarantee(channel), detailText(channel)].map(printable);
  const [first = '', ...cells] = running ? channelCells(channel, now) : tried;
  return [`${out.mark(CHANNEL_MARKS[state] ?? 'none')} ${first}`, ...cells];
}
