// lines of a session and its archive -> others in their place, each file in one step
import type { Redacted, RedactRule, SessionMessage } from '../src/core/session.ts';
import { writeFileAtomic } from '../src/lib/atomic-file.ts';
import { FILE_MODE, readIfPresent, removeFile } from './disk.ts';
import { formatMessages, toMessage } from './session-file.ts';

type Change = (line: SessionMessage) => SessionMessage | undefined;

/** A line of a file: a message, a header, or neither. */
interface FileLine {
  readonly text: string;
  readonly message: SessionMessage | undefined;
  readonly header: { readonly [name: string]: unknown } | undefined;
}

export function changeLines(
  messages: readonly SessionMessage[],
  change: Change,
): { readonly lines: readonly SessionMessage[]; readonly changed: number } {
  let changed = 0;
  const lines = messages.map((line) => {
    const other = change(line);
    if (other) changed += 1;
    return other ?? line;
  });
  return { lines, changed };
}

/** `stem`: path of the session's files without their endings. The caller has mended the session's file. */
export async function redactFiles(
  stem: string,
  rule: RedactRule,
  isTheirs: (unreadable: string) => boolean = () => false,
): Promise<Redacted> {
  const quarantine = `${stem}.quarantine.jsonl`;
  const files: { readonly path: string; readonly lines: readonly FileLine[] }[] = [];
  for (const path of [`${stem}.archive.jsonl`, `${stem}.jsonl`])
    files.push({ path, lines: readLines(await readIfPresent(path)) });
  const messages = files.flatMap(({ lines }) => lines.flatMap(({ message }) => message ?? []));
  const change = await rule(messages);
  const redacted = files.map(({ path, lines }) => {
    const texts = lines.map((line) => changedText(line, change));
    return { path, lines, texts, changed: texts.filter((text) => text !== undefined).length };
  });
  const changed = messages.filter((line) => change(line)).length;
  if (redacted.every((file) => file.changed === 0)) {
    if (isTheirs((await readIfPresent(quarantine))?.toString('utf8') ?? '')) await removeFile(quarantine);
    return { changed, left: messages.length };
  }
  // The last file that is written has lines to change: by these the next redaction sees that one was broken
  // off.
  await removeFile(quarantine);
  const order = [...redacted.filter((file) => file.changed === 0), ...redacted.filter((file) => file.changed > 0)];
  for (const { path, lines, texts } of order) {
    if (lines.length === 0) continue;
    // Bytes of an archive that cannot be read may be anything.
    const kept = lines.flatMap((line, n) => texts[n] ?? withoutSummary(line) ?? []);
    await writeFileAtomic(path, kept.map((text) => `${text}\n`).join(''), { mode: FILE_MODE });
  }
  return { changed, left: messages.length - changed };
}

function changedText(line: FileLine, change: Change): string | undefined {
  const other = line.message && change(line.message);
  return other ? formatMessages([other]).trimEnd() : withCut(line, change);
}

/** A header names the mark by which the session was begun anew last, as a line of the journal is called. */
function withCut({ header }: FileLine, change: Change): string | undefined {
  const { summary: _summary, parent_key: _parent, ...rest } = header ?? {};
  if (typeof rest['cut'] !== 'string') return undefined;
  const mark = change({ id: rest['cut'], role: 'system', content: '', timestamp: '', cut: { keep: 0 } });
  return mark && JSON.stringify({ ...rest, cut: mark.id });
}

/**
 * A summary may hold the words of each person who spoke, and the session that it is a copy of may be named by
 * their id. Undefined = it is no line of ours.
 */
function withoutSummary({ text, message, header }: FileLine): string | undefined {
  if (message) return text;
  if (!header) return undefined;
  const { summary, parent_key: parent, ...rest } = header;
  return summary === undefined && parent === undefined ? text : JSON.stringify(rest);
}

function readLines(bytes: Buffer | undefined): readonly FileLine[] {
  const texts = (bytes?.toString('utf8') ?? '').split('\n').filter((text) => text !== '');
  return texts.map((text, index) => {
    const value = parsed(text);
    const message = value && toMessage(value, index + 1)?.message;
    return { text, message, header: value && !message && 'schema_version' in value ? value : undefined };
  });
}

function parsed(text: string): { readonly [name: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
