// what a run sends beside its answer: which chats and mail channels there are, and who may be written to
import { join } from 'node:path';
import type { Address } from '../../core/message.ts';
import type { PairingStore } from '../../core/pairing.ts';
import type { PersonRef } from '../../core/people.ts';
import type { RunRow } from '../../core/run.ts';
import type { SessionMessage } from '../../core/session.ts';
import type { RunScope } from '../../core/tool.ts';
import { isCommandWord } from '../../gateway/commands/index.ts';
import { copyAttachment } from '../../media/attachments.ts';
import { isVerdict } from '../../operator/approvals.ts';
import { roleOf } from '../../operator/authority.ts';
import { RunAsking } from '../../runs/asking.ts';
import type { LetInOptions } from '../../runs/let-in.ts';
import { RunMailer } from '../../runs/mailer.ts';
import { RunMessages } from '../../runs/messages.ts';
import type { Transcripts } from '../../runs/transcripts.ts';
import type { ChannelSet } from '../channels.ts';
import type { Operator } from './operator.ts';
import type { Base } from './options.ts';
import { isSpoofable, provesSender } from './policy.ts';

const HOUR_MS = 3_600_000;

/** `home`: as `RunScope.origin`. */
export type SendBeside = (row: RunRow, home: Address | undefined) => Pick<RunScope, 'messages' | 'mailer' | 'asking'>;

interface MessageParts {
  readonly base: Base;
  readonly pairing: Pick<PairingStore, 'isBlocked' | 'decided'>;
  readonly mayWrite: LetInOptions['mayWrite'];
  readonly operator: Pick<Operator, 'owner'>;
  readonly transcripts: Pick<Transcripts, 'committed'>;
}

export function composeMessages({ base, pairing, mayWrite, operator, transcripts }: MessageParts): SendBeside {
  const { options, journal, channels, onParts, live, cap, linked } = base;
  const { clock, dataDir } = options;
  const shared = {
    ...{ journal, onParts, clock, cap },
    channelNames: () => [...channels.channels.keys()],
    linked: linked.of,
    linkedAs: (name: string) => linked.as(name),
    expiresInMs: () => live().gateway.answer_expiry_hours * HOUR_MS,
  };
  const mailChannels = () => new Map([...channels.channels].filter(([, channel]) => channel.writesMail));
  const lists = {
    ...{ owner: operator.owner, pairing, isLocal: (name: string) => channels.isLocal(name) },
    allowedSenders: (name: string) => channels.rules(name)?.allowed_senders ?? [],
    isSpoofable: (name: string) => isSpoofable(channels.rules(name)),
  };
  const toChats = {
    isGuest: async (who: Parameters<typeof roleOf>[0]) => (await roleOf(who, lists)) === 'guest',
    ...shared,
    channel: (name: string) => channels.channels.get(name),
    ...{ rules: writtenTo(channels), mayWrite, isReserved },
    onLine: (session: string, line: SessionMessage) => transcripts.committed(session, [line]),
  };
  const byMail = {
    ...shared,
    channels: mailChannels,
    isBlocked: (who: PersonRef) => pairing.isBlocked(who),
    copy: (file: { readonly path: string; readonly name: string }, maxBytes: number) =>
      copyAttachment(join(dataDir, 'outgoing'), file, maxBytes),
  };
  const byQuestion = {
    ...{ ...shared, owner: operator.owner },
    isChannel: (name: string) => channels.rules(name) !== undefined,
    provesSender: (name: string) => channels.isLocal(name) || provesSender(channels.rules(name)?.type),
    remindAfterMs: () => live().questions.remind_after_hours * HOUR_MS,
  };
  return (row, home) => {
    const messages = new RunMessages(row, home, toChats);
    return {
      ...{ messages, asking: new RunAsking(row, home, messages, byQuestion) },
      ...(mailChannels().size === 0 ? {} : { mailer: new RunMailer(row, home, byMail) }),
    };
  };
}

export function writtenTo(channels: ChannelSet): LetInOptions['rules'] {
  return (name) => {
    const rules = channels.rules(name);
    return rules && { isLocal: channels.isLocal(name), allowedGroups: rules.allowed_groups };
  };
}

/** Whether the gateway itself answers to these words. */
export function isReserved(words: string): boolean {
  return isCommandWord(words) || isVerdict(words);
}
