// what a chat is shown with an answer: thoughts, a line about the call, new Markdown files
import { join } from 'node:path';
import { errorText } from '../../core/errors.ts';
import { chatKey } from '../../core/ids.ts';
import type { Policy } from '../../core/policy.ts';
import { channelOf } from '../../core/run.ts';
import { copyAttachment } from '../../media/attachments.ts';
import type { AnswerExtras } from '../../runs/answer-extras.ts';
import { sessionWorkspace } from '../../runs/workspace.ts';
import { attachFrom, sendFile } from '../../tools/send-file.ts';
import type { Base } from './options.ts';

export function composeExtras({ options, channels, journal, live }: Base, policy: Policy): AnswerExtras {
  const { dataDir } = options;
  return {
    annotates: () => live().gateway.annotate,
    async showsThoughts({ message }) {
      if (!message || !live().gateway.show_thinking) return false;
      return (await journal.chats.of(chatKey(message)))?.settings.showThinking === true;
    },
    async attach(row, path, { taint, models }, signal) {
      const channel = channels.channels.get(channelOf(row));
      // As if the agent had sent it: what it may not send does not go by another way.
      const call = { tool: sendFile.facts, args: { file_path: path }, taint };
      const run = { authority: row.authority, channel: channelOf(row) };
      const mayAttach = models.every((model) => policy.decide(call, { ...run, model }).kind === 'allow');
      if (!channel || !mayAttach) return undefined;
      const workspace = sessionWorkspace(dataDir, row.workspace ?? row.session);
      const copy = (file: { path: string; name: string }) =>
        copyAttachment(join(dataDir, 'outgoing'), file, channel.limits.uploadBytes);
      try {
        return { file: await attachFrom(path, { workspace, signal }, copy) };
      } catch (error) {
        signal.throwIfAborted();
        options.logger.info('markdown.not-attached', { channel: channelOf(row), detail: errorText(error) });
        return undefined;
      }
    },
  };
}
