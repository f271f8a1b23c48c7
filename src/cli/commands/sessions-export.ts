import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import { GatehouseError } from '../../core/errors.ts';
import type { SessionMessage } from '../../core/session.ts';
import { writeFileAtomic } from '../../lib/atomic-file.ts';
import { printable } from '../../lib/printable.ts';
import { type Command, type CommandContext, dataDirOf } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { sessionNamed } from '../find-sessions.ts';
import { readMessages } from './sessions.ts';

const MOST = 1_000_000;

export interface ExportOptions {
  readonly session: string;
  readonly md?: boolean;
  readonly html?: boolean;
  readonly json?: boolean;
  readonly all?: boolean;
  readonly out?: string;
  readonly force?: boolean;
}

/** The conversation as one document: Markdown, a page, or JSON. */
export const sessionsExport: Command<ExportOptions> = async (context, options) => {
  const { out } = context;
  const { session: words, md = false, html = false, json = false, all = false, out: file, force = false } = options;
  if (Number(md) + Number(html) + Number(json) > 1)
    throw new GatehouseError('GH1001', 'a document has one form', { hint: 'name one of --md, --html and --json' });
  const { key } = await sessionNamed(context, words);
  const { messages } = await readMessages(context, key, { all, newest: MOST });
  const text = html ? page(key, messages) : json ? jsonText(key, messages) : markdown(key, messages);
  if (file === undefined) {
    out.raw(text);
    return EXIT.ok;
  }
  const path = resolve(context.deps.cwd, file);
  if (!force && (await exists(path)))
    throw new GatehouseError('GH1005', `${file} exists`, { hint: 'name another file, or `--force`' });
  await write(context, path, text);
  out.say(`${out.mark('ok', 'stderr')} ${messages.length} messages of ${printable(key)} are in ${printable(file)}`);
  return EXIT.ok;
};

async function write(context: CommandContext, path: string, text: string): Promise<void> {
  try {
    await writeFileAtomic(path, text, { mode: 0o600 });
  } catch (error) {
    const hint = `name a file in a directory that exists and can be written, outside ${dataDirOf(context)}`;
    throw new GatehouseError('GH1004', `${path} cannot be written`, { hint, cause: error });
  }
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}

function jsonText(session: string, messages: readonly SessionMessage[]): string {
  // What a provider wants back is opaque, and nothing that was said.
  const said = messages.map(({ provider_state: _, ...message }) => message);
  return `${JSON.stringify({ schemaVersion: 1, ok: true, session, messages: said }, null, 2)}\n`;
}

/**
 * What people and tools said is quoted whole, so that no character of it counts as markup of the document.
 */
function markdown(session: string, messages: readonly SessionMessage[]): string {
  const parts = messages.map(({ role, content, timestamp, tool_calls: calls = [], media = [] }) => {
    const lines = [
      ...(content === '' ? [] : [fenced(content)]),
      ...media.map((path) => `- file: ${code(path)}`),
      ...calls.map(({ name, arguments: args }) => `- called ${code(name)} with ${code(args)}`),
    ];
    return [`## ${role}, ${timestamp}`, ...lines].join('\n\n');
  });
  return `${[`# ${code(session)}`, ...parts].join('\n\n')}\n`;
}

function fenced(text: string): string {
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1));
  return `${fence}text\n${text}\n${fence}`;
}

function code(text: string): string {
  const line = printable(text);
  const fence = '`'.repeat(longestRun(line) + 1);
  return `${fence} ${line} ${fence}`;
}

function longestRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0);
}

const STYLE =
  'body{font:16px/1.5 sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}h2{font-size:1rem;margin:2rem 0 0}pre{white-space:pre-wrap;overflow-wrap:anywhere;font:inherit;margin:.3rem 0}.tool,.system{color:#666}';

/** Nothing in it is loaded or run: everything that was said is text. */
function page(session: string, messages: readonly SessionMessage[]): string {
  const items = messages.map(({ role, content, timestamp, tool_calls: calls = [], media = [] }) => {
    const more = [
      ...media.map((path) => `[file ${path}]`),
      ...calls.map(({ name, arguments: args }) => `[calls ${name} ${args}]`),
    ];
    const texts = [content, ...more].filter((text) => text !== '').map((text) => `<pre>${escaped(text)}</pre>`);
    return `<section class="${role}"><h2>${role}, <time>${escaped(timestamp)}</time></h2>${texts.join('')}</section>`;
  });
  const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`;
  const head = `<meta charset="utf-8">${policy}<title>${escaped(session)}</title><style>${STYLE}</style>`;
  return `<!doctype html>\n<html><head>${head}</head><body><h1>${escaped(session)}</h1>\n${items.join('\n')}\n</body></html>\n`;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escaped(text: string): string {
  return text.toWellFormed().replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
}
