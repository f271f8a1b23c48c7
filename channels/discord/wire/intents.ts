/** https://discord.com/developers/docs/events/gateway#gateway-intents */
const GUILDS = 1 << 0;
const GUILD_MESSAGES = 1 << 9;
const GUILD_MESSAGE_REACTIONS = 1 << 10;
const DIRECT_MESSAGES = 1 << 12;
const DIRECT_MESSAGE_REACTIONS = 1 << 13;
/** Privileged: the operator enables it at the developer portal, or the connection is refused. */
const MESSAGE_CONTENT = 1 << 15;

export function intents(content: boolean): number {
  const plain = GUILDS | GUILD_MESSAGES | GUILD_MESSAGE_REACTIONS | DIRECT_MESSAGES | DIRECT_MESSAGE_REACTIONS;
  return content ? plain | MESSAGE_CONTENT : plain;
}

/** What is missing without it, and what to do. */
export const NO_CONTENT =
  'the Message Content intent is not enabled for this bot: in servers only messages that mention it have a text. ' +
  'Enable it under Bot > Privileged Gateway Intents at https://discord.com/developers/applications and restart, ' +
  'or set message_content to false';
