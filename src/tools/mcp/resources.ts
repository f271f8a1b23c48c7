/**
 * What a server has to read, as two tools of our own making. They are listed, approved, named and allowed
 * like the server's own, so that no second set of rules is needed (MCP 2025-06-18, server/resources).
 */
import { z } from 'zod';
import { oneLine } from '../../lib/one-line.ts';
import { type AskServer, entriesOf, MAX_SHOWN, said, shownList } from './pages.ts';

const MAX_URI = 2_000;

const LIST = 'list_resources';
const READ = 'read_resource';

const annotations = { readOnlyHint: true };

/** In the form in which a server lists its tools. */
export const RESOURCE_TOOLS = [
  {
    ...{ name: LIST, annotations },
    description: 'List what this server has to read: address, name and description of each.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
  },
  {
    ...{ name: READ, annotations },
    description: 'Read what this server has at an address.',
    inputSchema: {
      ...{ type: 'object', required: ['uri'], additionalProperties: false },
      properties: { uri: { type: 'string', description: `As ${LIST} tells it, or made by one of its templates` } },
    },
  },
] as const;

const text = z.string().catch('');
const resource = z.object({ uri: text, uriTemplate: text, name: text, description: text, mimeType: text });

/** Answers as the server does to a call of its own tool. Rejects where it refuses or gives no answer. */
export async function callResourceTool(name: string, args: unknown, ask: AskServer): Promise<unknown> {
  if (name === LIST) return said(await listed(ask));
  const uri: unknown = typeof args === 'object' && args !== null ? Reflect.get(args, 'uri') : undefined;
  if (typeof uri !== 'string' || uri === '' || uri.length > MAX_URI)
    return { ...said(`uri must be a text of 1 to ${MAX_URI} characters`), isError: true };
  const answer = z.object({ contents: z.array(z.unknown()) }).safeParse(await ask('resources/read', { uri }));
  if (!answer.success) return undefined;
  const content = answer.data.contents.map((one) => ({ type: 'resource', resource: one }));
  return content.length > 0 ? { content } : said('there is nothing at this address');
}

async function listed(ask: AskServer): Promise<string> {
  const lines = await linesOf('resources/list', 'resources', ask);
  // A server need not know what templates are.
  const templates = await linesOf('resources/templates/list', 'resourceTemplates', ask).catch(() => []);
  return shownList([...lines, ...templates.map((line) => `template ${line}`)], 'this server has nothing to read now');
}

async function linesOf(method: string, key: string, ask: AskServer): Promise<readonly string[]> {
  return z
    .array(resource)
    .parse(await entriesOf(method, key, ask))
    .map(lineOf);
}

function lineOf({ uri, uriTemplate, name, description, mimeType }: z.output<typeof resource>): string {
  const kind = mimeType === '' ? '' : ` (${oneLine(mimeType, 100)})`;
  const about = description === '' ? '' : `: ${oneLine(description, MAX_SHOWN)}`;
  return `${oneLine(uri === '' ? uriTemplate : uri, MAX_URI)}${kind} ${oneLine(name, MAX_SHOWN)}${about}`;
}
