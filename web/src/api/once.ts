import { useRef } from 'react'
import { newKey } from './call.ts'
import { isFailure } from './errors.ts'

/** Sends a POST with its key: the same one for the same input, so that it is done once however
 *  often it is sent. After an answer it is another, because the host would only tell that again;
 *  but not once the fate of a try is unknown, since no later refusal tells it. */
export function useOnce() {
  const kept = useRef({ of: '', key: '', unknown: false })
  return async function <T>(input: unknown, send: (key: string) => Promise<T>): Promise<T> {
    const of = JSON.stringify(input)
    if (kept.current.of !== of) kept.current = { of, key: newKey(), unknown: false }
    try {
      const told = await send(kept.current.key)
      kept.current.of = ''
      return told
    } catch (e) {
      const answered = isFailure(e) && e.status >= 400 && e.status < 500 && !e.unknown && e.code !== 'idempotency_in_progress'
      if (!answered) kept.current.unknown = true
      else if (!kept.current.unknown) kept.current.of = ''
      throw e
    }
  }
}
