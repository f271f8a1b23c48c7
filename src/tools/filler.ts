/**
 * Words that say only that there is work, as models put them before it. As a whole: in a longer text they say
 * something.
 */
const FILLER = new Set([
  ...['thinking', 'im thinking', 'let me think', 'let me check', 'let me see', 'let me look', 'ill check', 'checking', 'on it'],
  ...['working', 'working on it', 'im working on it', 'im on it', 'processing', 'loading', 'searching', 'one moment'],
  ...['one moment please', 'one sec', 'one second', 'just a moment', 'just a second', 'just a sec', 'a moment please'],
  ...['please wait', 'please hold', 'hold on', 'hang on', 'give me a moment', 'give me a second', 'stand by', 'wait'],
  ...['ich denke nach', 'ich überlege', 'einen moment', 'einen moment bitte', 'moment', 'moment bitte', 'bitte warten'],
  ...['un instant', 'un moment', 'un instant sil vous plaît', 'je réfléchis', 'patientez', 'veuillez patienter'],
  ...['un momento', 'un momento por favor', 'pensando', 'estoy pensando', 'espera', 'um momento', 'aguarde', 'attendi'],
  ...['sto pensando', 'секунду', 'минуту', 'одну минуту', 'думаю', 'подождите', 'подождите пожалуйста'],
  ...['思考中', '正在思考', '我在思考', '让我想想', '让我想一想', '稍等', '请稍等', '請稍等', '请稍候', '請稍候', '稍等一下'],
  ...[
    '请稍等一下',
    '請稍等一下',
    '请等一下',
    '等一下',
    '處理中',
    '处理中',
    '正在处理',
    '正在處理',
    '查询中',
    '正在查询',
    '搜索中',
  ],
  ...[
    '考え中',
    '考え中です',
    '少々お待ちください',
    '少々お待ち下さい',
    'お待ちください',
    'ちょっと待って',
    'ちょっと待ってください',
  ],
  ...['処理中', '処理中です', '確認中', '確認中です', '생각 중', '생각 중입니다', '생각중', '잠시만요', '잠시만 기다려 주세요'],
  ...['잠시만 기다려주세요', '잠깐만요', '처리 중', '처리 중입니다', '확인 중', '확인 중입니다'],
]);

/** Whether a text says only that there is work, which people are shown anyway. */
export function isFiller(text: string): boolean {
  const words = text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/['’]/g, '')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
  return FILLER.has(words);
}
