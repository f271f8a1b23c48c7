/** A note in words for everything in a message that is neither text nor a file. */
import type { Message, Poll } from 'grammy/types';
import { bracketNote } from '../../kit/senders-words.ts';
import type { Content } from './inbound-content.ts';

/**
 * Empty for a message that its text and files tell completely, and for the platform's notices (somebody
 * joined, a title changed), which no person wrote. A message can hold several (a suggested post is also a
 * text or a picture).
 */
export function noteOf(content: Content): string {
  const notes = [sharedNote(content), ...('message_id' in content && 'date' in content ? messageNotes(content) : [])];
  return notes.filter((note) => note !== undefined && note !== '').join('\n');
}

/** Of messages and of what they reply to in another chat. */
function sharedNote(content: Content): string | undefined {
  const { sticker, venue, location, contact, poll, dice, checklist, story, paid_media, game, invoice } = content;
  if (sticker) return bracketNote('sticker', sticker.emoji, sticker.set_name && `from ${sticker.set_name}`);
  if (venue) {
    const { title, address, location: place } = venue;
    return bracketNote('venue', `${title}, ${address}`, `(${place.latitude}, ${place.longitude})`);
  }
  if (location)
    return bracketNote(location.live_period ? 'live location' : 'location', `${location.latitude}, ${location.longitude}`);
  if (contact) return bracketNote('contact', fullName(contact), contact.phone_number);
  if (poll) return pollNote(poll);
  if (dice) return bracketNote('dice', dice.emoji, `shows ${dice.value}`);
  if (checklist) return bracketNote('checklist', checklist.title, ...checklist.tasks.map((task) => `| ${task.text}`));
  if (story) return '[story that bots cannot see]';
  if (paid_media) {
    // Nothing of these can be had (Bot API, PaidMediaPreview).
    const hidden = paid_media.paid_media.filter(({ type }) => type === 'preview').length;
    const what = `for ${paid_media.star_count} stars`;
    const unseen = `${hidden} of ${paid_media.paid_media.length} not paid for and not shown`;
    return bracketNote('paid media', what, hidden > 0 ? unseen : undefined);
  }
  if (game) return bracketNote('game', game.title, game.text || game.description);
  if (invoice) return bracketNote('invoice', invoice.title, invoice.description && `| ${invoice.description}`);
  return giveawayNote(content);
}

function giveawayNote({ giveaway, giveaway_winners: ended }: Content): string | undefined {
  const { prize_description: prize, winner_count: count } = giveaway ?? ended ?? {};
  if (giveaway) return bracketNote('giveaway', `${count} winners`, prize && `| ${prize}`);
  if (!ended) return undefined;
  return bracketNote('giveaway is over', `${count} winners:`, ended.winners.map(fullName).join(', '), prize && `| ${prize}`);
}

function messageNotes(message: Message): readonly (string | undefined)[] {
  const { gift, gift_upgrade_sent: upgrade, unique_gift: unique, live_photo, suggested_post_info: post } = message;
  const { users_shared, chat_shared, web_app_data, passport_data, checklist_tasks_added: added } = message;
  const { poll_option_added: option, suggested_post_declined: declined } = message;
  return [
    live_photo && '[live photo: shown as a still picture]',
    gift && bracketNote('gift', `worth ${gift.gift.star_count} stars`, gift.gift.sticker.emoji, gift.text && `| ${gift.text}`),
    upgrade && bracketNote('upgrade of a gift', `worth ${upgrade.gift.star_count} stars`, upgrade.text && `| ${upgrade.text}`),
    unique && bracketNote('gift', `${unique.gift.base_name} #${unique.gift.number}`, unique.text && `| ${unique.text}`),
    users_shared &&
      bracketNote('people shared', users_shared.users.map((user) => `${fullName(user)} (${user.user_id})`.trim()).join(', ')),
    chat_shared && bracketNote('chat shared', chat_shared.title, `(${chat_shared.chat_id})`),
    web_app_data && bracketNote('data of a web app', web_app_data.data),
    passport_data && '[Telegram Passport data, encrypted for another program]',
    added && bracketNote('tasks added to a checklist', ...added.tasks.map((task) => `| ${task.text}`)),
    option && bracketNote('answer added to a poll', option.option_text),
    post && bracketNote('suggested post', post.state),
    declined && bracketNote('suggested post declined', declined.comment),
  ];
}

function pollNote({ question, options, description, explanation }: Poll): string {
  return bracketNote(
    'poll',
    question,
    description && `(${description})`,
    ...options.map(({ text, media }) => `| ${[text, media?.link?.url].filter((word) => word).join(' ')}`),
    explanation && `| explanation: ${explanation}`,
  );
}

function fullName({ first_name, last_name }: { readonly first_name?: string; readonly last_name?: string }): string {
  return [first_name, last_name].filter((part) => part).join(' ');
}
