import { useEffect, useState } from 'react'
import { type About, getAbout } from '../conversation/server.ts'

/** The model and the agents behind the page. */
export function useAbout(): About | undefined {
  const [about, setAbout] = useState<About>()
  useEffect(() => {
    getAbout().then(setAbout, () => undefined)
  }, [])
  return about
}
