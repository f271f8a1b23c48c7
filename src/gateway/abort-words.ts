/** Words that stop the running turn when they are the whole message (spec A5), by language, with the answer in that language. */
const WORDS: readonly { readonly answer: string; readonly words: readonly string[] }[] = [
  { answer: 'Cancelled.', words: ['stop', 'abort', 'cancel', 'halt', 'interrupt', 'quit', 'enough'] },
  { answer: '已取消。', words: ['停', '停止', '取消', '停下', '别说了'] },
  { answer: 'キャンセルしました。', words: ['やめて', '止めて', 'ストップ'] },
  { answer: 'Отменено.', words: ['стоп', 'отмена', 'хватит'] },
  { answer: 'Annulé.', words: ['arrête', 'annuler'] },
  { answer: 'Cancelado.', words: ['detente', 'cancelar'] },
  { answer: 'रद्द किया गया।', words: ['रुको', 'बंद करो'] },
  { answer: 'تم الإلغاء.', words: ['توقف', 'قف'] },
  { answer: '취소했습니다.', words: ['멈춰', '중지'] },
];

const ANSWERS = new Map(WORDS.flatMap(({ answer, words }) => words.map((word) => [word, `🛑 ${answer}`] as const)));

/** The answer to an abort word, undefined when the text is none. `/stop` counts. */
export function abortAnswer(text: string): string | undefined {
  const word = text.normalize('NFC').trim().toLowerCase();
  return ANSWERS.get(word === '/stop' ? 'stop' : word);
}
