import { readFile } from 'node:fs/promises';
import type { AnswerScope, RunScope, Tool, ToolContext, ToolKit } from '../core/tool.ts';
import { systemClock } from '../lib/clock.ts';

/** A call with every field set. */
export function toolCall(override: Partial<ToolContext> = {}): ToolContext {
  const { signal } = new AbortController();
  return { callId: 'c', idempotencyKey: 'r#c', workspace: '/w', clock: systemClock, signal, ...override };
}

/** The scope of a run in a chat. What it may add to its answer is what the test names; all else fails. */
export function runScope(answer: Partial<AnswerScope> = {}): RunScope {
  return {
    session: 's',
    authority: { principal: 'test:user-1', role: 'member', mode: 'guarded', policies: [] },
    channel: 'test',
    origin: { channel: 'test', account: 'bot', chatId: 'chat-1' },
    answer: { attach: () => Promise.reject(new Error('not in this test')), isReserved: () => false, ...answer },
  };
}

/** The only tool of a kit. Throws when the kit leaves it out. */
export function onlyTool(kit: ToolKit, answer: Partial<AnswerScope> = {}): Tool {
  const [tool, ...more] = kit(runScope(answer));
  if (!tool || more.length > 0) throw new Error(`the kit makes ${tool ? more.length + 1 : 0} tools, not one`);
  return tool;
}

/** Reads attachments at once. `contents` holds the text of each, in order. */
export function readAttachments(): { readonly attach: AnswerScope['attach']; readonly contents: readonly string[] } {
  const contents: string[] = [];
  return {
    contents,
    async attach({ path, name }) {
      const bytes = await readFile(path);
      contents.push(bytes.toString());
      return { path: '/copy', name, mime: 'text/plain', kind: 'document', bytes: bytes.length };
    },
  };
}
