import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { call } from '../../api/call.ts'
import { holds } from '../../api/gates.ts'
import { useOnce } from '../../api/once.ts'
import { queries, useAsk, useMe, useOrg, useVocabulary } from '../../api/queries.ts'
import type { IssuedKey } from '../../api/schema.gen.ts'
import { t as all } from '../../text/en.ts'
import { keys as t } from '../../text/keys.ts'
import { Button } from '../../ui/Button.tsx'
import { Choose } from '../../ui/Choose.tsx'
import { Field } from '../../ui/Field.tsx'
import { Id, Name, Time } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Plan } from '../../ui/Plan.tsx'
import { refusal } from '../../ui/Refusal.tsx'
import { Secret } from '../../ui/Secret.tsx'
import { Sure } from '../../ui/Sure.tsx'
import { kinds, manages } from './state.tsx'

/** Makes an API key, whose secret this screen alone holds, until it is left. */
export function NewKey() {
  const org = useOrg()
  const navigate = useNavigate({ from: '/orgs/$org/keys/new' })
  const search = useSearch({ from: '/signed-in/orgs/$org/keys/new' })
  const me = useMe()
  const everywhere = holds(me.data, manages) === 'yes'
  const once = useOnce()
  const [kind, setKind] = useState(kinds.find(k => k === search.kind) ?? 'principal')
  const [name, setName] = useState(search.name ?? '')
  const [serviceId, setService] = useState(search.service ?? '')
  const [namespace, setNamespace] = useState(search.namespace ?? '')
  const [until, setUntil] = useState(search.until ?? '')
  const [reviewing, setReviewing] = useState(false)
  const [made, setMade] = useState<IssuedKey | null>(null)
  const words = useVocabulary(kind === 'publisher')
  const expiresAt = until ? new Date(until).getTime() : null
  const namespaces = useAsk('GET /orgs/{org}/registry', { path: { org }, query: { limit: 1000 } }, { on: kind === 'publisher' })
  const of = kind === 'principal' ? serviceId.trim() : kind === 'publisher' ? namespace.trim() : ''
  function review(e: FormEvent) {
    e.preventDefault()
    setReviewing(true)
    // What is kept through another sign-in.
    void navigate({ search: { kind, name, until, ...(kind === 'principal' ? { service: of } : kind === 'publisher' ? { namespace: of } : {}) }, replace: true })
  }
  async function make() {
    const body = { kind, name: name.trim(), ...(kind === 'principal' ? { serviceId: of } : kind === 'publisher' ? { namespace: of } : {}), ...(expiresAt ? { expiresAt } : {}) }
    setMade(await once(body, key => call('POST /orgs/{org}/api-keys', { path: { org }, body }, { key })))
    setReviewing(false)
    void queries.invalidateQueries({ predicate: q => q.queryKey[0] !== 'session' })
  }
  function again() {
    setMade(null)
    setName('')
  }
  return (
    <Page title={t.newTitle} lead={t.newLead}>
      {made ? (
        <>
          <Secret title={t.madeTitle} of={made.secret} />
          <div className="row">
            <Link className="button" to="/orgs/$org/keys/$id" params={{ org, id: made.apiKey.id }}>{t.toKey}</Link>
            {made.apiKey.serviceId && <Link className="button" to="/orgs/$org/services/$id" params={{ org, id: made.apiKey.serviceId }}>{t.rows}</Link>}
            <Button onPress={again}>{t.another}</Button>
          </div>
        </>
      ) : (
        <form className="card form measure" onSubmit={review}>
          <div className="stack tight">
            <fieldset className="choice">
              <legend className="label">{t.kind}</legend>
              {kinds.map(k => <label key={k}><input type="radio" name="kind" checked={kind === k} disabled={k !== 'publisher' && !everywhere} onChange={() => setKind(k)} /> {t.kinds[k]}</label>)}
            </fieldset>
            <p className="small dim">{t.kindHints[kind]}{!everywhere && kind !== 'publisher' && <> {all.needs(manages)}</>}</p>
          </div>
          <Field label={t.name} hint={t.nameHint}>{a => <input {...a} value={name} onChange={e => setName(e.target.value)} required maxLength={200} />}</Field>
          {kind === 'principal' && <Field label={t.service} hint={t.serviceHint}>{a => <input {...a} className="mono" value={serviceId} onChange={e => setService(e.target.value)} required pattern="[A-Za-z0-9_.\-]{1,128}" autoCapitalize="none" spellCheck={false} />}</Field>}
          {kind === 'publisher' && <Choose label={t.namespace} value={namespace} onChange={setNamespace} choices={[...new Set([...(namespaces.data?.namespaces ?? []).map(n => n.namespace), ...(words.data?.owners.keys() ?? [])])].map(id => ({ id }))} mono required />}
          <Field label={t.until} hint={t.untilHint[kind]}>{a => <input {...a} type="datetime-local" value={until} onChange={e => setUntil(e.target.value)} />}</Field>
          <div className="row"><Button kind="main" type="submit">{t.review}</Button><Link className="button" to="/orgs/$org/keys" params={{ org }}>{all.cancel}</Link></div>
        </form>
      )}
      {reviewing && (
        <Sure title={t.reviewTitle} submit={t.submit} onSure={make} onEnd={() => setReviewing(false)} about={refusal}>
          <Plan steps={[{ sign: '+', text: <><strong><Name of={name.trim()} /></strong> {t.acts[kind]}{of && <> <Id of={of} /></>} {expiresAt ? <>{t.untilWord} <Time at={expiresAt} /></> : <span className="dim">{kind === 'admin' ? t.defaultEnd : t.forever}</span>}</> }]} />
          <p className="dim">{t.kindHints[kind]}</p>
        </Sure>
      )}
    </Page>
  )
}
