import { useRef } from 'react'
import { newKey } from './call.ts'
import { isFailure } from './errors.ts'

/** Sends a POST with its key: the same one for the same input, so that it is done once however
 *  often it is sent, and another after an answer, which the host would only tell again. */
export function useOnce() {
  const kept = useRef({ of: '', key: '' })
  return async function <T>(input: unknown, send: (key: string) => Promise<T>): Promise<T> {
    const of = JSON.stringify(input)
    if (kept.current.of !== of) kept.current = { of, key: newKey() }
    try {
      const told = await send(kept.current.key)
      kept.current.of = ''
      return told
    } catch (e) {
      if (isFailure(e) && e.status >= 400 && e.status < 500) kept.current.of = ''
      throw e
    }
  }
}
