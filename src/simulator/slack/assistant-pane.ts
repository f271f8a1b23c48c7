/**
 * The pane beside the conversations in which people talk to an app (docs.slack.dev/ai/developing-agents): its
 * threads, their titles and the prompts that it suggests.
 */
import { ApiError } from './api-error.ts';
import { BOT_USER, type Json, PERSON, type SlackWorkspace, type StoredMessage, TEAM_ID } from './workspace.ts';

/**
 * "Use this method to set up to four suggested prompts"
 * (docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts).
 */
const PROMPTS = 4;

/** The server behind the pane. */
export interface PaneServer {
  readonly workspace: SlackWorkspace;
  event(event: Json): Json;
}

/**
 * A person opens the pane of an app with `assistant_view`: a thread begins, and the app is told. Its first
 * message.
 */
export function openPane(server: PaneServer, user = PERSON): StoredMessage {
  const { workspace } = server;
  const channel = workspace.direct(user);
  const root = workspace.add({
    ...{ channel, user: BOT_USER, team: TEAM_ID, text: 'New chat', subtype: 'assistant_app_thread' },
    assistant_app_thread: { title: 'New chat', title_blocks: [], artifacts: [] },
  });
  const context = { channel_id: 'C0SEEN', team_id: TEAM_ID, enterprise_id: null };
  const thread = { user_id: user, context, channel_id: channel, thread_ts: root.ts };
  server.event({ type: 'assistant_thread_started', assistant_thread: thread, event_ts: workspace.nextTs() });
  return root;
}

/** A person opens the direct conversation with an app that has `agent_view`: there is no thread yet. */
export function openMessagesTab(server: PaneServer, user = PERSON): void {
  const { workspace } = server;
  const place = { user, channel: workspace.direct(user), tab: 'messages' };
  server.event({ type: 'app_home_opened', ...place, event_ts: workspace.nextTs() });
}

export function answerPane(method: string, channel: string, args: Json, server: PaneServer): Json {
  const { workspace } = server;
  if (!workspace.conversations.has(channel)) throw new ApiError('channel_not_found');
  const ts = typeof args['thread_ts'] === 'string' ? args['thread_ts'] : undefined;
  const root = ts === undefined ? undefined : workspace.find(channel, ts);
  if (ts !== undefined && !root) throw new ApiError('invalid_thread_ts');
  if (method === 'assistant.threads.setSuggestedPrompts') return setPrompts(channel, ts, args, workspace);
  const title = String(args['title'] ?? '');
  if (!root || title === '') throw new ApiError('invalid_arguments');
  workspace.titles.set(`${channel}:${root.ts}`, title);
  if (root['subtype'] === 'assistant_app_thread') announceTitle(root, title, server);
  return {};
}

function setPrompts(channel: string, ts: string | undefined, args: Json, workspace: SlackWorkspace): Json {
  const prompts = JSON.parse(String(args['prompts'] ?? '[]')) as readonly Json[];
  const areWhole = prompts.every(({ title, message }) => isWord(title) && isWord(message));
  if (prompts.length === 0 || prompts.length > PROMPTS || !areWhole) throw new ApiError('invalid_arguments');
  // "Including it in a call for an agent app will cause the call to silently fail" (the page of the method).
  if (workspace.isAgent && ts !== undefined) return {};
  workspace.prompts.set(ts === undefined ? channel : `${channel}:${ts}`, prompts);
  return {};
}

/**
 * A new title is told as an edit of the first message
 * (docs.slack.dev/reference/events/message/assistant_app_thread).
 */
function announceTitle(root: StoredMessage, title: string, server: PaneServer): void {
  const { workspace } = server;
  const edited = { user: root.user, ts: workspace.nextTs() };
  const message = { ...root, thread_ts: root.ts, text: title, edited, assistant_app_thread: { title, title_blocks: [] } };
  const place = { channel: root.channel, channel_type: 'im', ts: workspace.nextTs(), event_ts: workspace.nextTs() };
  server.event({ type: 'message', subtype: 'message_changed', hidden: true, ...place, message, previous_message: { ...root } });
  Object.assign(root, { text: title, edited });
}

function isWord(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}
