/** What a chat is told of a run that ended without its agent: whose it was, and which tools had run. */
import type { EndedRun, ToolUse } from '../core/run.ts';
import { oneLine } from '../lib/one-line.ts';
import { plainName } from '../lib/plain-name.ts';

export interface EndTexts {
  /** What was asked for was stopped. */
  readonly answer: string;
  /** When there was nothing to stop. */
  readonly idle: string;
  /** When there was nothing to stop that the person may stop. */
  readonly idleOwn: string;
  /** Before the names of those whose work ended. */
  readonly whose: string;
  /** Before the names of tools that ran. */
  readonly ran: string;
  /** Before the names of tools of which it is not known whether they took effect. */
  readonly unknown: string;
}

export type Language = 'en' | 'zh' | 'ja' | 'ru' | 'fr' | 'es' | 'hi' | 'ar' | 'ko';

/** In the order of `EndTexts`. */
const TABLE: Readonly<Record<Language, readonly [string, string, string, string, string, string]>> = {
  en: [
    'Cancelled.',
    'Nothing is being worked on.',
    'Nothing of yours is being worked on.',
    'Work of',
    'Already run',
    'Outcome unknown',
  ],
  zh: ['已取消。', '没有正在处理的内容。', '没有正在处理的您的内容。', '任务所属', '已执行', '结果未知'],
  ja: [
    'キャンセルしました。',
    '処理中のものはありません。',
    'あなたの依頼で処理中のものはありません。',
    '依頼者',
    '実行済み',
    '結果不明',
  ],
  ru: [
    'Отменено.',
    'Сейчас ничего не выполняется.',
    'Из ваших задач ничего не выполняется.',
    'Чьи задачи',
    'Уже выполнено',
    'Результат неизвестен',
  ],
  fr: ['Annulé.', 'Rien n’est en cours.', 'Rien de votre part n’est en cours.', 'Travail de', 'Déjà exécuté', 'Résultat inconnu'],
  es: [
    'Cancelado.',
    'No hay nada en curso.',
    'No hay nada suyo en curso.',
    'Trabajo de',
    'Ya ejecutado',
    'Resultado desconocido',
  ],
  hi: ['रद्द किया गया।', 'अभी कुछ नहीं चल रहा है।', 'अभी आपका कुछ नहीं चल रहा है।', 'किसका काम', 'पहले ही चल चुका', 'परिणाम अज्ञात'],
  ar: ['تم الإلغاء.', 'لا يوجد شيء قيد التنفيذ.', 'لا يوجد شيء لك قيد التنفيذ.', 'عمل', 'تم تنفيذه بالفعل', 'النتيجة غير معروفة'],
  ko: [
    '취소했습니다.',
    '진행 중인 작업이 없습니다.',
    '진행 중인 본인의 작업이 없습니다.',
    '작업 요청자',
    '이미 실행됨',
    '결과 알 수 없음',
  ],
};

/** Longest name of a person that is repeated, in UTF-16 units. */
const NAME_LIMIT = 64;

export function endTexts(language: Language): EndTexts {
  const [answer, idle, idleOwn, whose, ran, unknown] = TABLE[language];
  return { answer: `🛑 ${answer}`, idle, idleOwn, whose, ran, unknown };
}

/**
 * The answer to a stop that ended something. `isNamed`: with the names of those whose work it was, as in a
 * group.
 */
export function stoppedText(texts: EndTexts, ended: readonly EndedRun[], isNamed: boolean): string {
  // What a run began is that run's work, where it ended with it.
  const roots = ended.filter(({ row }) => row.source.kind !== 'run');
  const names = new Set(
    (roots.length > 0 ? roots : ended).map(({ row }) =>
      plainName(oneLine(row.message?.senderName ?? row.authority.principal, NAME_LIMIT)),
    ),
  );
  const whose = isNamed ? `\n${texts.whose}: ${[...names].join(', ')}` : '';
  return withTools(
    `${texts.answer}${whose}`,
    ended.flatMap(({ tools }) => tools),
    texts,
  );
}

/** The text, and below it the tools that ran; a person must know before they ask for the same again. */
export function withTools(text: string, tools: readonly ToolUse[], texts: EndTexts = endTexts('en')): string {
  const ran = tools.filter(({ isKnown }) => isKnown);
  const unknown = tools.filter(({ isKnown }) => !isKnown);
  return [
    text,
    ...(ran.length === 0 ? [] : [`${texts.ran}: ${toolList(ran)}`]),
    ...(unknown.length === 0 ? [] : [`${texts.unknown}: ${toolList(unknown)}`]),
  ].join('\n');
}

function toolList(tools: readonly ToolUse[]): string {
  return [...Map.groupBy(tools, ({ name }) => name)]
    .map(([name, calls]) => (calls.length === 1 ? name : `${name} (${calls.length}×)`))
    .join(', ');
}
