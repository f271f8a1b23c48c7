/**
 * Groups of tools that policies may name (spec G2), and how the entries of a policy are read (G3). Every
 * built-in tool is in one: this is also the list of the names that a config may have.
 */

/** Tools of later versions too: a policy that forbids one of them today must not fail to start. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  fs: ['read_file', 'write_file', 'edit_file', 'diff_edit', 'read_document', 'convert_markdown_to_docx'],
  runtime: ['shell', 'git', 'wait'],
  web: ['web_search', 'web_fetch', 'browser'],
  search: ['glob', 'grep', 'list_dir', 'code_structure'],
  sessions: ['spawn', 'dispatch_subagent', 'start_task'],
  memory: ['recall_memory', 'save_memory'],
  research: ['deep_search', 'synthesize_research', 'deep_crawl'],
  admin: ['manage_skills', 'configure_tool', 'model_check'],
  chat: ['send_file', 'offer_choices', 'react', 'message', 'ask_human', 'send_email'],
  schedule: ['cron'],
};

/**
 * Names that agents and skills written for other platforms use (spec P38). They are not described to a model.
 */
const ALIASES: Readonly<Record<string, string>> = { list_directory: 'list_dir', attach_file: 'send_file' };

/** What a tool is called here, in calls and in the config. */
export function canonicalName(name: string): string {
  return Object.hasOwn(ALIASES, name) ? (ALIASES[name] ?? name) : name;
}

/** Begin the tools of MCP servers and of plugins: which there are is known only while the daemon runs. */
const SOURCES = ['mcp__', 'plugin__'];

/** A whole name of theirs, or a beginning and `*`: what has another form is the name of none. */
const OF_SOURCE = /^(?:mcp|plugin)__(?:[A-Za-z0-9_-]*\*|[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*__[A-Za-z0-9_-]+\*?)$/;

const NAMES: readonly string[] = Object.values(GROUPS).flat();

/**
 * Whether an entry means this tool: its name or another one for it, a prefix that ends in `*`, or
 * `group:NAME`.
 */
export function entryFits(entry: string, name: string): boolean {
  if (entry.startsWith('group:')) return groupOf(entry).includes(name);
  return entry.endsWith('*') ? name.startsWith(entry.slice(0, -1)) : canonicalName(entry) === name;
}

/** Whether an entry can mean a tool at all. */
export function isKnownEntry(entry: string): boolean {
  if (entry.startsWith('group:')) return groupOf(entry).length > 0;
  if (SOURCES.some((source) => entry.startsWith(source))) return OF_SOURCE.test(entry);
  const isWide = entry.endsWith('*') && SOURCES.some((source) => source.startsWith(entry.slice(0, -1)));
  return isWide || NAMES.some((name) => entryFits(entry, name));
}

/**
 * The entry that was meant by one of no known form: all tools of the server or plugin that it names alone, or
 * the name that a tool has here. Absent where that cannot be told.
 */
export function meantEntry(entry: string): string | undefined {
  const [, source, name] = /^((?:mcp|plugin)__)([A-Za-z0-9-]*)_{0,2}$/.exec(entry) ?? [];
  if (source !== undefined) return name ? `${source}${name}__*` : `${source}*`;
  const id = entry.trim().replaceAll(/[^A-Za-z0-9_*-]/g, '_');
  return OF_SOURCE.test(id) ? id : undefined;
}

/** What an entry may be, for the hint to a misspelt one. */
export const KNOWN_ENTRIES: readonly string[] = [
  ...NAMES,
  ...Object.keys(ALIASES),
  ...Object.keys(GROUPS).map((group) => `group:${group}`),
];

function groupOf(entry: string): readonly string[] {
  const name = entry.slice('group:'.length);
  return Object.hasOwn(GROUPS, name) ? (GROUPS[name] ?? []) : [];
}

/** The group that a tool is described with: each MCP server and each plugin has one of its own. */
export function groupNameOf(tool: string): string {
  const known = Object.entries(GROUPS).find(([, names]) => names.includes(tool));
  if (known) return known[0];
  return SOURCES.some((source) => tool.startsWith(source)) ? tool.split('__', 2).join('__') : 'other';
}
