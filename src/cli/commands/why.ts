import { ERROR_CODES } from '../../core/error-codes.ts';
import type { RunAbout } from '../../core/record.ts';
import { printable } from '../../lib/printable.ts';
import { type Present, whyOf } from '../../runs/why.ts';
import type { Gate } from '../../runs/why-reasons.ts';
import { type Command, type CommandContext, dataDirOf } from '../context.ts';
import { askDaemon } from '../daemon-status.ts';
import { EXIT } from '../exit-codes.ts';
import { isoTime } from '../format-time.ts';
import { formatTable } from '../output.ts';
import { nothingOf, withJournal } from '../read-journal.ts';

export interface AboutOptions {
  /** As `EventRecord.about` takes it. */
  readonly id: string;
}

const MARKS: Readonly<Record<Gate['state'], 'ok' | 'warn' | 'bad'>> = { passed: 'ok', waits: 'warn', failed: 'bad' };

/** Why a message was answered, or was not: gate by gate. */
export const why: Command<AboutOptions> = async (context, { id }) => {
  const { out } = context;
  const about = await withJournal(context, ({ journal }) => journal.record.about(id));
  if (!about) {
    out.fail(nothingOf(id, dataDirOf(context), `nothing is known of ${id}`));
    return EXIT.failed;
  }
  const { verdict, configKey, gates } = whyOf(about, await presentOf(context, about));
  const at = about.events[0]?.event.at ?? about.run?.acceptedAt;
  const repair = repairOf(verdict);
  out.document({
    id: about.key,
    ...(at === undefined ? {} : { at: isoTime(at) }),
    ...(about.run ? { state: about.run.state } : {}),
    verdict,
    configKey: configKey ?? null,
    hint: repair ?? null,
    gates,
  });
  out.data(`${printable(about.key)}${at === undefined ? '' : `  ${isoTime(at)}`}`);
  out.data(
    formatTable(
      gates.map(({ gate, state, text, detail }) => [
        `${out.mark(MARKS[state])} ${gate}`,
        printable(detail === undefined ? text : `${text}: ${detail}`),
      ]),
    ),
  );
  out.data(printable(verdict));
  if (repair !== undefined) out.say(`→ ${repair}`);
  if (about.run?.state === 'DEAD') out.say(`→ gatehouse dead replay in-${about.run.seq}, once what is named is mended`);
  if (configKey !== undefined) out.say(`→ the config decides it: ${configKey}`);
  return EXIT.ok;
};

/** The usual way out of the error that a verdict names. */
function repairOf(verdict: string): string | undefined {
  const code = /\bGH\d{4}\b/.exec(verdict)?.[0];
  return Object.entries(ERROR_CODES).find(([one]) => one === code)?.[1].hint;
}

/** Asked only of what is not over: a daemon that does not answer costs a second. */
async function presentOf(context: CommandContext, { run, parts, events }: RunAbout): Promise<Present> {
  const now = context.deps.clock.now();
  const isOpen = run?.state === 'NEW' || run?.state === 'RUNNING' || parts.some(({ state }) => state === 'PENDING');
  if (!isOpen) return { now };
  const daemon = await askDaemon(dataDirOf(context));
  if (daemon.kind === 'down') return { now, daemon: 'down' };
  const name = events.findLast(({ event }) => event.channel !== undefined)?.event.channel;
  const { channels, removedChannels = [] } = daemon.status;
  const isRemoved = removedChannels.some((one) => one.name === name);
  const channel = channels.find((one) => one.name === name)?.state ?? (isRemoved ? 'removed' : undefined);
  const { ofPerson } = daemon.status.lanes;
  return { now, daemon: 'up', ...(channel ? { channel } : {}), ...(ofPerson === undefined ? {} : { ofPerson }) };
}
