/** Longest loop that is looked for, in characters. */
const longestPeriod = 400
/** The loop must fill at least this much of the text's end, and come round so often. */
const smallestTail = 1_600
const fewestRounds = 8

/**
 * Says whether a text ends in an endless loop: the same stretch of at most 400 characters again and again over at least its
 * last 1,600. Looks at the end only, so the cost does not grow with the text.
 */
export function endsInLoop(text: string): boolean {
  if (text.length < smallestTail) return false
  const tail = text.slice(-Math.max(smallestTail, longestPeriod * fewestRounds))
  for (let period = 1; period <= longestPeriod && period * fewestRounds <= tail.length; period++) {
    if (isPeriodic(tail, period, Math.max(smallestTail, period * fewestRounds))) return true
  }
  return false
}

/** Whether the last `span` characters repeat with the period. */
function isPeriodic(text: string, period: number, span: number): boolean {
  if (span > text.length) return false
  for (let at = text.length - 1; at >= text.length - span + period; at--) {
    if (text.charCodeAt(at) !== text.charCodeAt(at - period)) return false
  }
  return true
}
