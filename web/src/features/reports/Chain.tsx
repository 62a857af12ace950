import { Link, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { call } from '../../api/call.ts'
import type { AuditPlace, VerifiedPart } from '../../api/schema.gen.ts'
import { reports as t } from '../../text/reports.ts'
import { Button } from '../../ui/Button.tsx'
import { Id, Name, Time } from '../../ui/Id.tsx'
import { Failed } from '../../ui/States.tsx'
import { say } from '../../ui/Toasts.tsx'

interface Told {
  hashed: number
  unhashed: number
  last: AuditPlace | null
  broken: { at: number; id: string; reason: string } | null
  state: 'running' | 'stopped' | 'over'
}

const none: Told = { hashed: 0, unhashed: 0, last: null, broken: null, state: 'running' }

/** Has the hash chain of a log verified, part by part, from its beginning or behind an entry that was kept. */
export function Chain({ org, home }: { org: string; home: string }) {
  const search = useSearch({ from: '/signed-in/orgs/$org/reports' })
  const at = Number(search.at)
  const from = search.id && Number.isSafeInteger(at) && at > 0 ? { at, id: search.id, ...(search.hash ? { hash: search.hash } : {}) } : {}
  const [told, setTold] = useState<Told | null>(null)
  const [error, setError] = useState<unknown>(null)
  const stop = useRef<AbortController | null>(null)
  useEffect(() => () => stop.current?.abort(), [])
  async function verify() {
    const end = new AbortController()
    stop.current = end
    let now = none
    setError(null)
    setTold(now)
    try {
      for (let cursor = ''; ; ) {
        const query = { ...from, ...(cursor ? { cursor } : {}) }
        const part: VerifiedPart = await (home ? call('GET /orgs/{org}/applications/{app}/audit/verify', { path: { org, app: home }, query }, { signal: end.signal }) : call('GET /orgs/{org}/org/audit/verify', { path: { org }, query }, { signal: end.signal }))
        now = {
          hashed: now.hashed + part.hashed, unhashed: now.unhashed + part.unhashed, last: part.last ?? now.last,
          broken: part.ok ? null : { at: part.broken?.at ?? 0, id: part.broken?.id ?? '', reason: part.reason ?? '' }, state: part.nextCursor ? 'running' : 'over',
        }
        setTold(now)
        if (!part.nextCursor) return
        cursor = part.nextCursor
      }
    } catch (failed) {
      if (end.signal.aborted) setTold({ ...now, state: 'stopped' })
      else {
        setTold(null)
        setError(failed)
      }
    }
  }
  async function anchor(last: AuditPlace) {
    const to = new URL(location.href)
    for (const [name, value] of Object.entries({ tab: 'chain', home, at: String(last.at), id: last.id, hash: last.hash ?? '' })) {
      if (value) to.searchParams.set(name, value)
      else to.searchParams.delete(name)
    }
    await navigator.clipboard.writeText(to.href)
    say(t.anchored)
  }
  const running = told?.state === 'running'
  return (
    <div className="stack measure">
      <div className="row">
        {running ? <Button onPress={() => stop.current?.abort()}>{t.stopIt}</Button> : <Button kind="main" onPress={() => void verify()}>{told ? t.again : t.verify}</Button>}
        <span className="dim">{'at' in from ? t.from(new Date(at).toISOString()) : t.fromStart}</span>
      </div>
      {error !== null && <Failed of={error} retry={() => void verify()} />}
      {running && <p role="status">{t.verified(told.hashed + told.unhashed)}</p>}
      {told && !running && <Result org={org} home={home} of={told} onAnchor={anchor} />}
    </div>
  )
}

function Result({ org, home, of, onAnchor }: { org: string; home: string; of: Told; onAnchor: (last: AuditPlace) => Promise<void> }) {
  const title = of.broken ? t.broken : of.hashed > 0 ? t.whole : of.unhashed > 0 ? t.noChain : t.empty
  const good = !of.broken && of.hashed > 0 && of.state === 'over'
  return (
    <section className={of.broken ? 'verdict no' : good ? 'verdict yes' : 'verdict'} aria-label={t.tabs.chain}>
      <div className="grow stack close">
        <h2 role="status">{of.state === 'stopped' && !of.broken ? t.stopped : title}</h2>
        {of.broken && <p>{t.brokenAt} <Time at={of.broken.at} /> <Id of={of.broken.id} />: <Name of={of.broken.reason} /></p>}
        {of.hashed > 0 && <p>{of.broken ? t.before(of.hashed) : t.wholeOf(of.hashed)}</p>}
        {of.unhashed > 0 && of.hashed > 0 && <p>{t.unhashed(of.unhashed)}</p>}
        {of.unhashed > 0 && of.hashed === 0 && !of.broken && <p>{t.noChainHint}</p>}
        <div className="row">
          {of.broken && <Link className="button small" to="/orgs/$org/audit" params={{ org }} search={{ ...(home ? { log: home } : {}), event: `${of.broken.at}.${of.broken.id}` }}>{t.showEvent}</Link>}
          {!of.broken && of.last?.hash && <Button small onPress={() => void onAnchor(of.last!)}>{t.anchor}</Button>}
        </div>
        {!of.broken && of.last?.hash && <p className="small dim">{t.anchorHint}</p>}
      </div>
    </section>
  )
}
