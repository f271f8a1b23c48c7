import type { JournalCounts } from '../core/journal.ts';
import { changesText } from '../core/reload.ts';
import type { ConfigStatus, McpStatus, PluginStatus, SlotStatus, StatusDocument } from '../core/status.ts';
import type { ChannelStatus } from '../core/turn.ts';
import { counted } from '../lib/counted.ts';
import { printable } from '../lib/printable.ts';
import { spentText } from '../llm/money/with-budget.ts';
import { CHANNEL_MARKS, channelCells } from './format-channel.ts';
import { formatDuration, formatRelative } from './format-time.ts';
import { formatTable, type Output } from './output.ts';
import { failingFix, failingText, holdText, NAME_A_MODEL, troublesOf } from './troubles.ts';

interface View {
  readonly out: Output;
  readonly now: number;
  readonly dataDir: string;
  /** How many questions wait for the answer of a person. */
  readonly questions: number;
}

/** Troubles that no other line of the screen tells. */
const WITHOUT_LINE = /^(?:journal|intake:.*|budget|price|disk|webhook:.*)$/;

/** One screen: what runs, what waits, what went wrong. No colour carries meaning alone. */
export function formatStatus(status: StatusDocument, view: View): string {
  const { out, now, dataDir } = view;
  const { model, usageToday, lanes } = status;
  const latency = model.lastLatencyMs === undefined ? '' : `  last answer in ${Math.round(model.lastLatencyMs)} ms`;
  const instead = model.replacedBy === undefined ? '' : ` is gone, ${printable(model.replacedBy)} answers`;
  const modelText = model.demo ? `demo: no real AI answers   → ${NAME_A_MODEL}` : `${printable(model.id)}${instead}`;
  const calls = `${counted(usageToday.calls, 'call')}, ${usageToday.tokensIn} tokens in, ${usageToday.tokensOut} out, ${moneyText(status)}`;
  return [
    `${out.paint('bold', 'gatehouse')} ${printable(status.version)}  up ${formatDuration(status.uptimeSec * 1000)}  pid ${status.pid}  ${dataDir}`,
    `${modelMark(status, view)} model     ${modelText}${latency}`,
    ...formatHealth(status, view),
    ...(model.warnings ?? []).map((warning) => `${out.mark('warn')} catalog   ${printable(warning)}`),
    ...formatModels(status.models, view),
    ...formatChannels(status.channels, view),
    ...(status.mcp ?? []).map((server) => formatMcp(server, view)),
    ...(status.plugins ?? []).map((plugin) => formatPlugin(plugin, view)),
    ...formatRemoved(status.removedChannels ?? [], view),
    ...(status.config ? formatConfig(status.config, view) : []),
    `${out.mark('none')} turns     ${lanes.running} running, ${lanes.waiting} waiting`,
    ...formatJournal(status.journal, view),
    ...(status.holds ?? []).map(
      (hold) => `${out.mark('warn')} held      ${printable(holdText(hold, now, status.journal.unsent))}`,
    ),
    ...formatClock(status, view),
    ...formatJobs(status.jobs, view),
    ...formatSandbox(status.sandbox, view),
    `${out.mark('none')} today     ${calls}`,
    ...status.lastErrors
      .slice(0, 3)
      .map(
        ({ at, code, detail }) =>
          `${out.mark('bad')} error     ${printable(code)} ${printable(detail)}  ${formatRelative(at, now)}`,
      ),
    ...troublesOf(status, now)
      .filter(({ id }) => WITHOUT_LINE.test(id))
      .map(({ text, fix, isBad }) => `${out.mark(isBad ? 'bad' : 'warn')} trouble   ${printable(text)}   → ${printable(fix)}`),
    ...(status.degraded.length === 0 ? [] : [`${out.mark('warn')} degraded  ${status.degraded.map(printable).join(', ')}`]),
  ].join('\n');
}

function modelMark({ model, modelHealth }: StatusDocument, { out }: View): string {
  if ((modelHealth?.failedInARow ?? 0) > 0) return out.mark('bad');
  return out.mark(model.demo || model.replacedBy !== undefined ? 'warn' : 'ok');
}

/** Nothing while calls are answered. */
function formatHealth({ modelHealth }: StatusDocument, { out, now }: View): string[] {
  const text = modelHealth && failingText(modelHealth, now);
  if (text === undefined || !modelHealth) return [];
  const { lastAnswerAt } = modelHealth;
  const answered = lastAnswerAt === undefined ? 'none was answered yet' : `last answer ${formatRelative(lastAnswerAt, now)}`;
  return [`${out.mark('bad')} calls     ${printable(text)}; ${answered}   → ${printable(failingFix(modelHealth))}`];
}

function formatClock({ clockMovedMs: moved, clockBehindMs: behind }: StatusDocument, { out }: View): string[] {
  if (behind !== undefined)
    return [
      `${out.mark('bad')} clock     is ${formatDuration(behind)} behind the newest record, what is due waits   → timedatectl set-ntp true`,
    ];
  if (moved === undefined) return [];
  const way = `${formatDuration(Math.abs(moved))} ${moved < 0 ? 'back' : 'ahead'}`;
  return [`${out.mark('warn')} clock     was set ${way} while the daemon ran   → timedatectl status`];
}

function moneyText({ usageToday: { costUsd, unpriced }, budget }: StatusDocument): string {
  const spent = budget ? spentText(budget) : `${costUsd.toFixed(2)} USD`;
  return unpriced === 0 ? spent : `${spent} and ${unpriced} of unknown price`;
}

function formatModels(models: readonly SlotStatus[], { out }: View): string[] {
  if (models.length === 0) return [];
  const rows = models.map(({ id, circuit, successes, failures, latencyMs, firstTokenMs }) => [
    printable(id),
    circuit === 'closed' ? 'in use' : circuit === 'open' ? 'left alone' : 'tried again',
    `${successes} answered, ${failures} failed`,
    latencyMs === null
      ? ''
      : `${Math.round(latencyMs)} ms${firstTokenMs === null ? '' : `, first token ${Math.round(firstTokenMs)} ms`}`,
  ]);
  const lines = formatTable(rows).split('\n');
  return models.map(({ circuit }, index) => `${out.mark(circuit === 'closed' ? 'ok' : 'warn')} slot      ${lines[index] ?? ''}`);
}

function formatChannels(channels: readonly ChannelStatus[], { out, now }: View): string[] {
  if (channels.length === 0) return [`${out.mark('none')} channels  none`];
  const lines = formatTable(channels.map((channel) => channelCells(channel, now))).split('\n');
  return channels.map(({ state }, index) => `${out.mark(CHANNEL_MARKS[state] ?? 'none')} channel   ${lines[index] ?? ''}`);
}

function formatMcp({ server, state, detail = '', offered, waiting }: McpStatus, { out }: View): string {
  const approve = waiting.length === 0 ? '' : `, ${waiting.length} not approved   → gatehouse mcp approve ${server}`;
  const what =
    state === 'up'
      ? `${counted(offered.length, 'tool')}${approve}`
      : `${state} ${printable(detail)}${['down', 'login'].includes(state) ? `   → gatehouse mcp test ${server}` : ''}`;
  return `${out.mark(['down', 'login'].includes(state) || approve ? 'warn' : 'ok')} mcp       ${printable(server)}  ${what}`;
}

function formatPlugin({ plugin, state, detail = '', offered }: PluginStatus, { out }: View): string {
  const enable = `→ gatehouse plugins enable ${printable(plugin)}`;
  const what = {
    enabled: counted(offered.length, 'tool'),
    disabled: 'off',
    new: `not approved   ${enable}`,
    changed: `changed since it was approved   ${enable}`,
    broken: `broken: ${printable(detail)}   → gatehouse plugins list`,
  }[state];
  const mark = state === 'enabled' ? 'ok' : state === 'disabled' ? 'none' : 'warn';
  return `${out.mark(mark)} plugin    ${printable(plugin)}  ${what}`;
}

/** Nothing where there are none. */
function formatJobs(jobs: StatusDocument['jobs'], { out, now }: View): string[] {
  if (!jobs || jobs.enabled + jobs.disabled === 0) return [];
  const { enabled, disabled, failing, nextDue } = jobs;
  const next = nextDue === undefined ? '' : `, next ${formatRelative(nextDue, now)}`;
  const failed = failing === 0 ? '' : `, ${failing} failed last time   → gatehouse cron list`;
  return [`${out.mark(failing > 0 ? 'warn' : 'none')} jobs      ${enabled} enabled, ${disabled} disabled${next}${failed}`];
}

const SANDBOXES = {
  bwrap: 'bubblewrap',
  macos: 'sandbox-exec',
  docker: 'each program in a container',
  none: 'programs run bare, as the user of the daemon',
  off: 'off',
};

function formatSandbox(sandbox: StatusDocument['sandbox'], { out }: View): string[] {
  if (!sandbox) return [];
  if ('problem' in sandbox)
    return [`${out.mark('warn')} sandbox   no tool runs programs: ${printable(sandbox.problem)}   → ${printable(sandbox.hint)}`];
  if (sandbox.mode === 'off') return [`${out.mark('none')} sandbox   off: no tool runs programs`];
  const network = sandbox.mode === 'none' || sandbox.network ? 'with the network' : 'no network';
  const missing = sandbox.missing === undefined ? '' : `; ${printable(sandbox.missing)}`;
  const isWell = sandbox.mode !== 'none' && missing === '';
  return [`${out.mark(isWell ? 'ok' : 'warn')} sandbox   ${SANDBOXES[sandbox.mode]}, ${network}${missing}`];
}

function formatRemoved(removed: NonNullable<StatusDocument['removedChannels']>, { out }: View): string[] {
  return removed.map(
    ({ name, waiting }) =>
      `${out.mark('warn')} channel   ${printable(name)} was removed; ${waiting} to send wait until they expire`,
  );
}

/** Nothing, while what runs is what the file says. */
function formatConfig({ needsRestart, applied, problem }: ConfigStatus, { out, now }: View): string[] {
  const when = (at: number): string => formatRelative(at, now);
  return [
    ...(applied ? [`${out.mark('ok')} config    ${printable(changesText(applied.changes))}  ${when(applied.at)}`] : []),
    ...(problem
      ? [
          `${out.mark('bad')} config    ${problem.code} ${printable(problem.detail)}  ${when(problem.at)}   → gatehouse config check`,
        ]
      : []),
    ...(needsRestart.length === 0
      ? []
      : [`${out.mark('warn')} config    holds after a restart of the daemon: ${needsRestart.map(printable).join(', ')}`]),
  ];
}

/** What the journal holds: also readable while no daemon runs. */
export function formatJournal(counts: JournalCounts, { out, now, questions }: View): string[] {
  const { inbox, outbox, refused } = counts;
  const oldest = counts.oldestNewAt === undefined ? '' : `, oldest ${formatRelative(counts.oldestNewAt, now)}`;
  const parked = inbox.PARKED > 0 ? `, ${inbox.PARKED} parked` : '';
  const asked = questions > 0 ? '   → gatehouse questions list' : '';
  const outboxMark = outbox.UNKNOWN + outbox.DEAD > 0 ? 'warn' : 'ok';
  const mend = (count: number): string => (count > 0 ? '   → gatehouse dead list' : '');
  const lines = [
    `${out.mark(inbox.DEAD > 0 ? 'warn' : 'ok')} messages  ${inbox.NEW} waiting${oldest}, ${inbox.RUNNING} running${parked}, ${inbox.DONE} done, ${inbox.DEAD} dead${mend(inbox.DEAD)}${asked}`,
    `${out.mark(outboxMark)} answers   ${outbox.PENDING + outbox.SENDING} to send, ${outbox.SENT} sent, ${outbox.UNKNOWN} unknown, ${outbox.EXPIRED} expired, ${outbox.DEAD} dead${mend(outbox.DEAD + outbox.UNKNOWN)}`,
  ];
  if (refused.length > 0) {
    const reasons = refused.map(({ channel, reason, count }) => printable(`${channel} ${reason} ${count}`)).join(', ');
    lines.push(`${out.mark('none')} refused   ${reasons}`);
  }
  return lines;
}
