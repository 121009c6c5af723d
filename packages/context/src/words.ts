const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]+/gu

/** The words of a text for an index: those of `get_weather` and `getWeather` too, and pairs of characters where a script has no spaces. */
export function words(text: string): string[] {
  const found: string[] = []
  for (const word of text.replaceAll(/([a-z])([A-Z])/g, '$1 $2').split(/[^\p{L}\p{N}]+/u)) {
    const rest = word.replaceAll(CJK, (run) => {
      const characters = [...run]
      if (characters.length === 1) found.push(run)
      for (let i = 1; i < characters.length; i++) found.push(`${characters[i - 1]}${characters[i]}`)
      return ' '
    })
    found.push(...rest.split(' ').filter((part) => part !== ''))
  }
  return found
}
