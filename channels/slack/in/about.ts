/**
 * What a channel is about, in the words of its members
 * (https://docs.slack.dev/reference/methods/conversations.info, objects/conversation-object: topic, purpose).
 */
import { type JsonObject, obj, str } from '../../kit/json.ts';

/** See `Channel.about`. Rejects with a `CallError`. */
export async function aboutChannel(
  chatId: string,
  call: (method: string, args: JsonObject) => Promise<JsonObject>,
): Promise<string> {
  const channel = obj((await call('conversations.info', { channel: chatId }))['channel']);
  const said = (field: string, name: string): readonly string[] => {
    const value = str(obj(channel[field])['value'])?.trim() ?? '';
    return value === '' ? [] : [`${name}: ${value}`];
  };
  return [...said('topic', 'Topic'), ...said('purpose', 'Description')].join('\n');
}
