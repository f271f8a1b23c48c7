// The model of `npm run soak`, in a process of its own: prints its address. It answers at once, and by the
// words of the person asks for a tool, a sub-agent, or neither.
import { parseArgs } from 'node:util';
import {
  callPieces,
  messagesOf,
  type ReceivedRequest,
  type Reply,
  startModelServer,
  stream,
  textPieces,
} from '../model-server.ts';

/** Every tenth message takes a tool call, a task three of them, every second task a sub-agent too. */
const TOOL_EVERY = 10;
const STEPS = 3;
const ASKED = /\b(message|begin|chore|errand|tick) (\d+)\b/;

const WORDS: Readonly<Record<string, string>> = { message: 'echo: message', begin: 'begun' };

interface Call {
  readonly name: string;
  readonly arguments: object;
}

/** Undefined: echo, for what is no part of the script. */
function answer(request: ReceivedRequest): Reply | undefined {
  // A summary of a conversation. With a call for an answer it would fail, and the conversation stay as long
  // as it is.
  if (request.body['tools'] === undefined) return stream([textPieces('People counted.').join('')]);
  const messages = messagesOf(request);
  const at = messages.findLastIndex(({ role, content }) => role === 'user' && ASKED.test(content));
  const [, kind = '', digits = ''] = ASKED.exec(messages[at]?.content ?? '') ?? [];
  if (kind === '') return undefined;
  const results = messages.slice(at).filter(({ role }) => role === 'tool').length;
  const call = nextCall(kind, Number(digits), results);
  if (call) return stream([callPieces(call).join('')]);
  return stream([textPieces(`${WORDS[kind] ?? `done with ${kind}`} ${digits}`).join('')]);
}

function nextCall(kind: string, n: number, results: number): Call | undefined {
  const look = { name: 'list_dir', arguments: { path: '.' } };
  if (kind === 'message') return n % TOOL_EVERY === 3 && results === 0 ? look : undefined;
  if (kind === 'begin') return results === 0 ? { name: 'start_task', arguments: { task: `chore ${n}` } } : undefined;
  if (kind !== 'chore' || results >= STEPS) return undefined;
  if (results > 0 || n % 2 === 0) return look;
  return { name: 'dispatch_subagent', arguments: { task_description: `errand ${n}` } };
}

const { values } = parseArgs({ options: { port: { type: 'string', default: '0' } } });
const server = await startModelServer({ port: Number(values.port), record: false, script: answer });
process.once('disconnect', () => process.exit(0));
process.stdout.write(`${server.url}\n`);
