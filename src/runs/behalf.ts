/** What the readers of another chat are told of who writes to them, and what is said of them in turn. */
import { LOCAL_OPERATOR } from '../core/job.ts';
import { RELAYED } from '../core/relayed.ts';
import { nameInMark } from '../lib/marks.ts';

/** Signs of Markdown, and those with which a name could look like the rest of the line. */
const SIGNS = /[*_`~#|\\()<>:@]/g;

/**
 * The line above every message. Names are chosen by people, so the id stands beside it, by which access is
 * decided: `On behalf of Ada (telegram:42):`. A name can neither end the line nor look like an id.
 */
export function headOf(name: string | undefined, principal: string): string {
  if (principal === LOCAL_OPERATOR) return `${RELAYED.person} the operator:`;
  return `${RELAYED.person} ${personShown(name, principal)}:`;
}

/** `Ada (telegram:42)`: a name that people chose, and the id by which access is decided. */
export function personShown(name: string | undefined, principal: string): string {
  const id = principal.replace(/[^\w@.:+=/-]/gu, (char) => `%${char.codePointAt(0)?.toString(16)}`);
  const shown = name === undefined ? '' : withoutSigns(name);
  return shown === '' ? id : `${shown} (${id})`;
}

export function receiverTitle(chat: {
  readonly channel: string;
  readonly chatId: string;
  readonly name: string | undefined;
  readonly isGroup: boolean;
}): string {
  const { channel, chatId, name, isGroup } = chat;
  const id = nameInMark(chatId, { otherwise: '?' });
  if (isGroup) return `the group ${id} (${channel})`;
  const shown = name === undefined ? '' : withoutSigns(name);
  return shown === '' ? `${id} (${channel})` : `${shown} (${channel}, ${id})`;
}

/** On the line of a mark, where no sign may look like the rest of the line. */
function withoutSigns(name: string): string {
  return nameInMark(name.replace(SIGNS, ' '), { otherwise: '' }).replace(/ {2,}/g, ' ');
}
