/**
 * Templates, lists, buttons and what is chosen from them: messages that programs of businesses send, and
 * people forward.
 */
import type { proto } from '@whiskeysockets/baileys';
import { parseObject } from '../../kit/json.ts';
import { bracketNote, type Ours, ours } from '../../kit/senders-words.ts';

type Content = proto.IMessage;
type Labels = readonly (string | null | undefined)[];
/** In the order in which people see them. */
type Lines = readonly (string | Ours | null | undefined)[];

const MOST_CARDS = 10;

export interface KindWords {
  /** Words of people. */
  readonly text: string;
  /** Marks for what is neither text nor a file. */
  readonly note: string;
}

/** Undefined for what is no such message, otherwise never empty. */
export function businessWords(content: Content): KindWords | undefined {
  const lines = choiceWords(content) ?? formWords(content);
  if (!lines) return undefined;
  const text = lines.filter((line) => line && typeof line === 'string').join('\n');
  const note = lines.flatMap((line) => (line && typeof line === 'object' && line.marks !== '' ? [line.marks] : [])).join('\n');
  return { text, note: text === '' && note === '' ? '[message of a business without words]' : note };
}

/** The files within such a message, in the fields that a message of its own has them in. */
export function businessFiles(content: Content): readonly Content[] {
  const { buttonsMessage, interactiveMessage } = content;
  const template = templateOf(content);
  const cards = interactiveMessage?.carouselMessage?.cards ?? [];
  const headers = [interactiveMessage, template?.interactive, ...cards.slice(0, MOST_CARDS)].map((one) => one?.header);
  return [buttonsMessage, template?.hydrated, ...headers].filter((file) => file !== undefined && file !== null) as Content[];
}

/** What a person chose. */
function choiceWords(content: Content): Lines | undefined {
  const { buttonsResponseMessage, listResponseMessage, templateButtonReplyMessage, interactiveResponseMessage } = content;
  if (buttonsResponseMessage) return [buttonsResponseMessage.selectedDisplayText || buttonsResponseMessage.selectedButtonId];
  if (listResponseMessage) {
    const { title, description, singleSelectReply } = listResponseMessage;
    return title || description ? [title, description] : [singleSelectReply?.selectedRowId];
  }
  if (templateButtonReplyMessage)
    return [templateButtonReplyMessage.selectedDisplayText || templateButtonReplyMessage.selectedId];
  if (!interactiveResponseMessage) return undefined;
  const { body, nativeFlowResponseMessage } = interactiveResponseMessage;
  if (body?.text) return [body.text];
  const values = wordsOfJson(nativeFlowResponseMessage?.paramsJson);
  return [ours(bracketNote('answer to a form', nativeFlowResponseMessage?.name, ...values))];
}

function formWords(content: Content): Lines | undefined {
  const { buttonsMessage, listMessage, interactiveMessage, highlyStructuredMessage, richResponseMessage } = content;
  if (buttonsMessage) {
    const { text, contentText, footerText, buttons, locationMessage } = buttonsMessage;
    const shown = (buttons ?? []).map(({ buttonText }) => buttonText?.displayText);
    return [text, locationMessage?.name, contentText, footerText, buttonsLine(shown)];
  }
  if (listMessage) {
    const { title, description, footerText, buttonText, sections } = listMessage;
    const rows = (sections ?? []).flatMap((section) => [
      section.title,
      ...(section.rows ?? []).map((row) => `- ${[row.title, row.description].filter(Boolean).join(': ')}`),
    ]);
    return [title, description, footerText, buttonsLine([buttonText]), ...rows];
  }
  const template = templateOf(content);
  if (template?.interactive) return interactiveWords(template.interactive);
  if (template?.hydrated) {
    const { hydratedTitleText, hydratedContentText, hydratedFooterText, hydratedButtons } = template.hydrated;
    const shown = (hydratedButtons ?? []).map(({ quickReplyButton, urlButton, callButton }) =>
      [
        quickReplyButton?.displayText ?? urlButton?.displayText ?? callButton?.displayText,
        urlButton?.url ?? callButton?.phoneNumber,
      ]
        .filter(Boolean)
        .join(' '),
    );
    return [hydratedTitleText, hydratedContentText, hydratedFooterText, buttonsLine(shown)];
  }
  if (interactiveMessage) return interactiveWords(interactiveMessage);
  if (highlyStructuredMessage) {
    return [ours(bracketNote('template', highlyStructuredMessage.elementName, ...(highlyStructuredMessage.params ?? [])))];
  }
  if (richResponseMessage) return (richResponseMessage.submessages ?? []).map(({ messageText }) => messageText);
  return content.templateMessage ? [] : undefined;
}

interface Template {
  readonly interactive?: proto.Message.IInteractiveMessage;
  readonly hydrated?: proto.Message.TemplateMessage.IHydratedFourRowTemplate;
}

function templateOf({ templateMessage, highlyStructuredMessage }: Content): Template | undefined {
  const template = templateMessage ?? highlyStructuredMessage?.hydratedHsm;
  const hydrated = template?.hydratedTemplate ?? template?.hydratedFourRowTemplate;
  if (template?.interactiveMessageTemplate) return { interactive: template.interactiveMessageTemplate };
  return hydrated ? { hydrated } : undefined;
}

function interactiveWords(message: proto.Message.IInteractiveMessage, isCard = false): Lines {
  const { header, body, footer, nativeFlowMessage, carouselMessage } = message;
  const shown = (nativeFlowMessage?.buttons ?? []).map(({ name, buttonParamsJson }) => {
    const params = parseObject(buttonParamsJson ?? undefined);
    return [params?.['display_text'] ?? params?.['title'] ?? name, params?.['url']]
      .filter((word) => typeof word === 'string')
      .join(' ');
  });
  const cards = isCard ? [] : (carouselMessage?.cards ?? []);
  const left = cards.length - MOST_CARDS;
  return [
    header?.title,
    header?.subtitle,
    body?.text,
    footer?.text,
    buttonsLine(shown),
    ...cards.slice(0, MOST_CARDS).flatMap((card) => interactiveWords(card, true)),
    left > 0 ? ours(`[${left} more cards left out]`) : undefined,
  ];
}

function buttonsLine(labels: Labels): Ours {
  const buttons = labels.filter((label) => label).map((label) => bracketNote('button', label));
  return ours(buttons.join(' '));
}

/**
 * The words of an answer whose form is not known: every value that is text or a number, with its name.
 */
function wordsOfJson(json: string | null | undefined): readonly string[] {
  const values = Object.entries(parseObject(json?.slice(0, 10_000)) ?? {});
  return values
    .filter(([name, value]) => name !== 'flow_token' && (typeof value === 'string' || typeof value === 'number'))
    .map(([name, value]) => `| ${name}: ${String(value)}`);
}
