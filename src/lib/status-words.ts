import type { StatusSettings } from '../core/chats.ts';

/** How long each word stands where a chat says nothing else. */
export const WORD_SECS = 8;
/** Words that say that there is work, one after the other. */
export const STATUS_WORDS: Readonly<Record<string, readonly string[]>> = {
  en: ['Thinking', 'Considering', 'Looking into it', 'Working', 'Putting it together'],
  zh: ['思考中', '考虑中', '查找中', '处理中', '整理中'],
  ja: ['考え中', '検討中', '調査中', '作業中', 'まとめ中'],
  ru: ['Думаю', 'Обдумываю', 'Разбираюсь', 'Работаю', 'Собираю ответ'],
  fr: ['Réflexion', 'Examen', 'Recherche', 'Travail en cours', 'Mise en forme'],
  es: ['Pensando', 'Considerando', 'Investigando', 'Trabajando', 'Preparando la respuesta'],
  de: ['Denke nach', 'Überlege', 'Sehe nach', 'Arbeite', 'Stelle zusammen'],
  hi: ['सोच रहा है', 'विचार कर रहा है', 'देख रहा है', 'काम कर रहा है', 'जोड़ रहा है'],
  ar: ['أفكّر', 'أدرس الأمر', 'أبحث', 'أعمل', 'أجمع الإجابة'],
  ko: ['생각 중', '검토 중', '찾아보는 중', '작업 중', '정리 중'],
};

/** Those of a chat: its own, else those of its language. */
export function statusWords({ words = [], locale = 'en' }: StatusSettings): readonly string[] {
  return words.length > 0 ? words : (STATUS_WORDS[locale] ?? []);
}
