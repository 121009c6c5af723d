/** Cuts a text into the words of the search: as others do, and Chinese and Japanese by pairs of signs. */
export function words(text: string): string[] {
  return text.split(/[\n\r\p{Z}\p{P}]+/u).flatMap((word) => {
    const signs =
      word.match(
        /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+|[^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+/gu,
      ) ?? []
    return signs.flatMap((part) =>
      /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]{3,}$/u.test(part)
        ? Array.from(part.slice(1), (sign, i) => `${part[i]}${sign}`)
        : [part],
    )
  })
}
