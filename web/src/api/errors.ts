import type { Error as Envelope } from './schema.gen.ts'

/** What a call failed with, as the host told it; status 0 is no answer at all. */
export class Failure extends Error {
  readonly status: number
  readonly code: string
  readonly requestId: string
  /** Seconds that the host asks to wait, 0 for none. */
  readonly wait: number
  /** The members that this error has beside those of all. */
  readonly fields: Record<string, unknown>

  constructor(status: number, told: Envelope['error'], wait = 0) {
    super(told.message)
    const { name, code, message: _, requestId, ...fields } = told
    this.name = name
    this.code = code ?? name
    this.status = status
    this.requestId = requestId
    this.wait = wait
    this.fields = fields
  }

  /** Whether nobody knows if a write was done. */
  get unknown() {
    return this.fields.outcome === 'unknown' || (this.status === 0 && this.fields.write === true)
  }
}

export function unanswered(write: boolean): Failure {
  const told = { name: 'NoAnswer', code: 'no_answer', message: '', requestId: '', write }
  return new Failure(0, told)
}

export async function failure(answer: Response): Promise<Failure> {
  const wait = Number(answer.headers.get('Retry-After') ?? 0) || 0
  try {
    return new Failure(answer.status, ((await answer.json()) as Envelope).error, wait)
  } catch {
    const requestId = answer.headers.get('X-Request-Id') ?? ''
    return new Failure(answer.status, { name: 'ProtocolError', code: 'not_the_api', message: '', requestId }, wait)
  }
}

export function isFailure(e: unknown, ...codes: string[]): e is Failure {
  return e instanceof Failure && (codes.length === 0 || codes.includes(e.code))
}
