import { type EndTexts, endTexts, type Language } from '../../runs/end-texts.ts';

/**
 * Words that stop the running turn when they are the whole message (spec A5). They are answered in their
 * language.
 */
const WORDS: Readonly<Record<Language, readonly string[]>> = {
  en: ['stop', 'abort', 'cancel', 'halt', 'interrupt', 'quit', 'enough'],
  zh: ['停', '停止', '取消', '停下', '别说了'],
  ja: ['やめて', '止めて', 'ストップ'],
  ru: ['стоп', 'отмена', 'хватит'],
  fr: ['arrête', 'annuler'],
  es: ['detente', 'cancelar'],
  hi: ['रुको', 'बंद करो'],
  ar: ['توقف', 'قف'],
  ko: ['멈춰', '중지'],
};

const ANSWERS: ReadonlyMap<string, EndTexts> = new Map(
  (Object.keys(WORDS) as Language[]).flatMap((language) => WORDS[language].map((word) => [word, endTexts(language)])),
);

/** Of a text that may be one of them: a letter of these languages is composed of at most four characters. */
const LONGEST = 4 * Math.max('/stop'.length, ...[...ANSWERS.keys()].map((word) => word.length));

/** The texts that answer an abort word, undefined when the text is none. `/stop` counts. */
export function abortAnswer(text: string): EndTexts | undefined {
  const said = text.trim();
  if (said.length > LONGEST) return undefined;
  const word = said.normalize('NFC').toLowerCase();
  return ANSWERS.get(word === '/stop' ? 'stop' : word);
}
