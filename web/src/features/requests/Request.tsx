import { Link, useParams, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { isFailure } from '../../api/errors.ts'
import { holds } from '../../api/gates.ts'
import { useOnce } from '../../api/once.ts'
import { queries, readAnew, useAsk, useMe, usePages, useVocabulary } from '../../api/queries.ts'
import type { OneEntry } from '../../api/schema.gen.ts'
import { visible } from '../../domain/visible.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { ScopeName, What } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Plan } from '../../ui/Plan.tsx'
import { Failed, Loaded } from '../../ui/States.tsx'
import { say } from '../../ui/Toasts.tsx'
import { Decision } from './Decide.tsx'
import { Facts, Given, State } from './Facts.tsx'
import { Stages } from './Stages.tsx'

/** One request with its stages, what was decided, and its end. */
export function OneRequest() {
  const { org, id } = useParams({ from: '/signed-in/orgs/$org/requests/$id' })
  const { from } = useSearch({ from: '/signed-in/orgs/$org/requests/$id' })
  const me = useMe()
  const words = useVocabulary()
  const one = useAsk('GET /orgs/{org}/requests/{id}', { path: { org, id }, query: from ? { application: from } : {} })
  const [cancelling, setCancelling] = useState(false)
  const r = one.data?.request
  const own = r !== undefined && r.requesterUserId === me.data?.caller.userId
  return (
    <Page
      title={r ? t.requests.one(own, visible(r.requesterUserId), visible(words.data?.roles.find(role => role.id === r.roleId)?.name ?? r.roleId ?? r.pattern ?? '')) : t.inbox.one} lead={r && <State of={r.state} />}
      actions={r && one.data && (
        <>
          {own && r.state !== 'pending' && r.state !== 'approved' && <Link className="button" to="/orgs/$org/ask" params={{ org }} search={{ ...(r.roleId ? { role: r.roleId } : { pattern: r.pattern ?? '' }), scope: r.scope }}>{t.requests.again}</Link>}
          {r.state === 'pending' && own && !cancelling && <Button kind="danger" onPress={() => setCancelling(true)}>{t.requests.cancel}</Button>}
        </>
      )}
    >
      <Loaded of={one}>
        {entry => (
          <div className="stack">
            {cancelling && <Cancel org={org} of={entry} onBack={() => setCancelling(false)} onOver={() => (setCancelling(false), void one.refetch())} />}
            <div className="columns">
              <section className="card stack close" aria-label={t.requests.asked}>
                <header><h2>{t.requests.asked}</h2></header>
                <Facts org={org} request={entry.request} />
                <Given org={org} roleId={entry.request.roleId ?? ''} patterns={entry.request.pattern ? [entry.request.pattern] : null} />
              </section>
              <section className="card" aria-label={t.requests.stages}>
                <header><h2>{t.requests.stages}</h2></header>
                <Stages of={entry.request} />
                {own && entry.request.state === 'pending' && <p className="small dim">{t.requests.ownDecision}</p>}
                {entry.request.state === 'approved' && <Now org={org} of={entry} />}
              </section>
              {entry.request.state === 'pending' && entry.mayDecide && (
                <section className="card" aria-label={t.inbox.decision}>
                  <header><h2>{t.inbox.decision}</h2></header>
                  <Decision org={org} request={entry.request} application={entry.application ?? undefined} onDecided={() => (document.getElementById('main')?.focus(), void readAnew())} onConflict={() => void one.refetch()} />
                </section>
              )}
            </div>
          </div>
        )}
      </Loaded>
    </Page>
  )
}

/** What became of the grant that the request led to, as far as its home tells the reader. */
function Now({ org, of: { request: r, application } }: { org: string; of: OneEntry }) {
  const me = useMe()
  const read = holds(me.data, 'authz_internal.access.read') === 'yes'
  const rows = usePages('GET /orgs/{org}/org/grants', { path: { org }, query: { subject: 'user:' + r.requesterUserId, homes: 'all' } }, p => p.grants, { on: read })
  const grant = rows.list.find(g => g.provenance.kind === 'request' && g.provenance.requestId === r.id)
  if (!read || !rows.pages || rows.pages.some(p => p.unavailable?.length) || (!grant && rows.grid.hasMore)) return <p className="small dim">{t.requests.given}</p>
  return (
    <p>
      {grant ? t.requests.have(grant.expiresAt !== undefined && grant.expiresAt !== null && grant.expiresAt <= Date.now()) : t.requests.gone}{' '}
      {grant && <Link to="/orgs/$org/grants" params={{ org }} search={{ open: grant.id, subject: grant.subject, ...(application ? { home: application } : {}) }}>{t.requests.seeGrant}</Link>}
    </p>
  )
}

function Cancel({ org, of: { request: r, application }, onBack, onOver }: { org: string; of: OneEntry; onBack: () => void; onOver: () => void }) {
  const once = useOnce()
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  async function sure() {
    setBusy(true)
    setError(null)
    try {
      await once(r.id, key => call('POST /orgs/{org}/requests/{id}/cancel', { path: { org, id: r.id }, body: application ? { application } : {} }, { key }))
      say(t.requests.cancelled)
      void queries.invalidateQueries({ predicate: q => q.queryKey[0] !== 'session' })
      onOver()
    } catch (failed) {
      setError(failed)
      setBusy(false)
    }
  }
  return (
    <section className="card stack close measure" aria-label={t.requests.cancelTitle}>
      <h2>{t.requests.cancelTitle}</h2>
      <Plan steps={[{ sign: '−', text: <>{t.requests.withdraws} <What of={r} /> {r.scope === '*' ? t.everywhere : <>{t.explain.at} <ScopeName of={r.scope} /></>}</> }]} />
      {error !== null && <Failed of={error}>{isFailure(error) && error.unknown && <span>{t.give.unknown}</span>}</Failed>}
      <div className="row"><Button kind="danger main" busy={busy} onPress={() => void sure()}>{t.requests.cancelNow}</Button><Button onPress={onBack}>{t.requests.keep}</Button></div>
    </section>
  )
}
