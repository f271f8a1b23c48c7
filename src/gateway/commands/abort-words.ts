export interface AbortAnswer {
  readonly answer: string;
  /** When there was nothing to stop. */
  readonly idle: string;
}

/** Words that stop the running turn when they are the whole message (spec A5), by language, with the answers in that language. */
const WORDS: readonly (AbortAnswer & { readonly words: readonly string[] })[] = [
  {
    answer: 'Cancelled.',
    idle: 'Nothing is being worked on.',
    words: ['stop', 'abort', 'cancel', 'halt', 'interrupt', 'quit', 'enough'],
  },
  { answer: '已取消。', idle: '没有正在处理的内容。', words: ['停', '停止', '取消', '停下', '别说了'] },
  { answer: 'キャンセルしました。', idle: '処理中のものはありません。', words: ['やめて', '止めて', 'ストップ'] },
  { answer: 'Отменено.', idle: 'Сейчас ничего не выполняется.', words: ['стоп', 'отмена', 'хватит'] },
  { answer: 'Annulé.', idle: 'Rien n’est en cours.', words: ['arrête', 'annuler'] },
  { answer: 'Cancelado.', idle: 'No hay nada en curso.', words: ['detente', 'cancelar'] },
  { answer: 'रद्द किया गया।', idle: 'अभी कुछ नहीं चल रहा है।', words: ['रुको', 'बंद करो'] },
  { answer: 'تم الإلغاء.', idle: 'لا يوجد شيء قيد التنفيذ.', words: ['توقف', 'قف'] },
  { answer: '취소했습니다.', idle: '진행 중인 작업이 없습니다.', words: ['멈춰', '중지'] },
];

const ANSWERS: ReadonlyMap<string, AbortAnswer> = new Map(
  WORDS.flatMap(({ answer, idle, words }) => words.map((word) => [word, { answer: `🛑 ${answer}`, idle }])),
);

/** The answer to an abort word, undefined when the text is none. `/stop` counts. */
export function abortAnswer(text: string): AbortAnswer | undefined {
  const word = text.normalize('NFC').trim().toLowerCase();
  return ANSWERS.get(word === '/stop' ? 'stop' : word);
}
