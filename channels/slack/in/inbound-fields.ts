/** What every payload of the platform is read with: who we are, and what ids and times mean. Pure. */
import type { CommandEntry } from '../../../src/core/command-entry.ts';
import type { Json } from '../../../src/core/message.ts';
import { type JsonObject, num, obj, str } from '../../kit/json.ts';
import { isPrivateCommand } from '../../kit/private-command.ts';
import type { SlackPayload } from './payload.ts';

/** Who we are, from `auth.test`. */
export interface Identity {
  readonly userId: string;
  readonly botId: string;
  readonly teamId: string;
  /** The organisation that the workspace belongs to; undefined outside of Enterprise Grid. */
  readonly enterpriseId?: string | undefined;
}

export interface InboundContext {
  /** Instance name and account of the channel. */
  readonly channel: string;
  readonly account: string;
  readonly me: Identity;
  /** A workspace of our organisation, as the payload (`teamOfOurs`) or the platform (`Colleagues`) says. */
  readonly sisterTeam?: string | undefined;
  /** Top-level messages of a channel open a thread of their own. */
  readonly replyInThread: boolean;
  /**
   * So do those of direct conversations: in the pane of an app with `agent_view` the person's own message
   * is the first of its thread (https://docs.slack.dev/ai/migrating-to-agent-messaging).
   */
  readonly directThreads: boolean;
  /** Replies in our threads are addressed to us. */
  readonly followThreads: boolean;
  /** Ids of other apps and workflows that may call us. */
  readonly allowedBots: ReadonlySet<string>;
  /** The commands of the gateway, for those that are answered to their sender alone. */
  readonly commands: readonly CommandEntry[];
  /** True for a thread that we wrote in. */
  readonly joined: (chatId: string, threadId: string) => boolean;
  /** Epoch ms, for payloads without a time of their own. */
  readonly now: number;
}

/** Seconds since the epoch with six places: the id of a message in its conversation. */
export const TS = /^\d{1,12}\.\d{1,9}$/;

/** Ids of direct conversations with one person begin with D, those of groups and channels with C or G. */
export function isGroup(chatId: string): boolean {
  return !chatId.startsWith('D');
}

/**
 * User ids are unique within a workspace only. People of other workspaces, who write in shared channels, are
 * named with theirs, so that none of them can stand for a person here (reliability.md A3). An organisation
 * names its own people with its own id or with that of any of its workspaces, and there a user id stands for
 * one person "across all workspaces" (https://api.slack.com/enterprise/grid).
 */
export function authorId(
  user: string | undefined,
  team: string | undefined,
  { me, sisterTeam }: InboundContext,
): string | undefined {
  if (user === undefined || user === '') return undefined;
  return isHome(team, me) || team === sisterTeam ? user : `${team}:${user}`;
}

/** The workspace of the author of a message. */
export function teamOf(message: JsonObject): string | undefined {
  return str(message['user_team']) ?? str(message['source_team']) ?? str(message['team']);
}

/**
 * The workspace that a payload says belongs to our organisation; undefined where it names another one, or
 * none. Each payload names a workspace together with its organisation. That says nothing of other
 * workspaces: of a button in a channel that two organisations share it is the app's, and `user.team_id` is
 * the person's (https://github.com/slackapi/java-slack-sdk/issues/1041).
 */
export function teamOfOurs({ kind, body }: SlackPayload, { enterpriseId }: Identity): string | undefined {
  const isAction = kind === 'action';
  const place = isAction ? obj(body['team']) : { id: body['team_id'], enterprise_id: body['enterprise_id'] };
  const organisation = str(place['enterprise_id']) ?? (isAction ? str(obj(body['enterprise'])['id']) : undefined);
  return organisation !== undefined && organisation === enterpriseId ? str(place['id']) : undefined;
}

/** Our workspace, or the organisation that it belongs to. */
export function isHome(team: string | undefined, { teamId, enterpriseId }: Identity): boolean {
  return team === undefined || team === teamId || team === enterpriseId;
}

/** The thread that a message stands in, or opens. */
export function threadOf(chatId: string, ts: string, threadTs: string | undefined, context: InboundContext): string | undefined {
  // Its own ts marks the parent of a thread, but only in history: when it was pushed, it had no replies yet.
  if (threadTs !== undefined && threadTs !== ts && TS.test(threadTs)) return threadTs;
  return (isGroup(chatId) ? context.replyInThread : context.directThreads) ? ts : undefined;
}

/** The person whom alone an answer is for, and when they asked, epoch ms. */
export interface OnlyFor {
  /** Without a workspace, as the Web API takes it. */
  readonly user: string;
  readonly at: number;
}

/**
 * What is needed to answer: from `ts` on the answer is looked for; `onlyFor` of a command in a channel whose
 * answer is of use to its sender alone.
 */
export function answerContext(
  asked: { readonly ts: string; readonly at: number; readonly chatId: string; readonly user?: string; readonly text: string },
  { commands }: Pick<InboundContext, 'commands'>,
): { readonly [key: string]: Json } {
  const { ts, at, chatId, user, text } = asked;
  if (user === undefined || !isGroup(chatId) || !isPrivateCommand(text, commands)) return { ts };
  return { ts, onlyFor: { user, at } };
}

/** As `answerContext` wrote it. */
export function onlyForOf(replyContext: JsonObject | undefined): OnlyFor | undefined {
  const { user, at } = obj(replyContext?.['onlyFor']);
  const [id, asked] = [str(user), num(at)];
  return id === undefined || asked === undefined ? undefined : { user: id, at: asked };
}

/** Epoch ms. */
export function toMs(ts: string): number {
  return Math.floor(Number(ts) * 1_000);
}
