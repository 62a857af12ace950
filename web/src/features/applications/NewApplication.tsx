import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { call } from '../../api/call.ts'
import { queries, useOrg } from '../../api/queries.ts'
import type { Application } from '../../api/schema.gen.ts'
import { visible } from '../../domain/visible.ts'
import { apps } from '../../text/applications.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Field } from '../../ui/Field.tsx'
import { Id, Name } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { say } from '../../ui/Toasts.tsx'
import { Review } from './Review.tsx'

const words = apps.registering

export function NewApplication() {
  const org = useOrg()
  const [id, setId] = useState('')
  const [name, setName] = useState('')
  const [spaces, setSpaces] = useState('')
  const [reviewed, setReviewed] = useState(false)
  const [done, setDone] = useState<Application | null>(null)
  const body = { id: id.trim(), name: name.trim(), namespaces: [...new Set(spaces.split(/[\s,]+/).filter(Boolean))] }
  function review(e: FormEvent) {
    e.preventDefault()
    setReviewed(true)
  }
  async function register(key: string) {
    const { application } = await call('POST /orgs/{org}/applications', { path: { org }, body }, { key })
    setDone(application)
    say(words.done(visible(application.name)))
    void queries.invalidateQueries({ predicate: q => q.queryKey[0] !== 'session' })
  }
  return (
    <Page title={words.title} lead={words.lead}>
      {done ? (
        <section className="card stack">
          <header><h2>{words.made}</h2></header>
          <p><Name of={done.name} /> <Id of={done.id} /></p>
          <p>{words.next}</p>
          <div className="row"><Link className="button main" to="/orgs/$org/applications/$id" params={{ org, id: done.id }} search={{ act: 'link' }}>{words.link}</Link><Link className="button" to="/orgs/$org/applications/$id" params={{ org, id: done.id }}>{words.show}</Link></div>
        </section>
      ) : reviewed ? (
        <Review
          title={words.reviewTitle} submit={words.submit} onSure={register} onBack={() => setReviewed(false)}
          steps={[{ sign: '+', text: <>{words.registers} <strong><Name of={body.name} /></strong> <Id of={body.id} /></> }, ...body.namespaces.map(n => ({ sign: '+' as const, text: <>{words.claims} <Id of={n} /></> }))]}
        />
      ) : (
        <form className="card form measure" onSubmit={review}>
          <div className="fields">
            <Field label={apps.name}>{a => <input {...a} value={name} onChange={e => setName(e.target.value)} required maxLength={200} autoComplete="off" />}</Field>
            <Field label={apps.id} hint={words.idHint}>{a => <input {...a} className="mono" value={id} onChange={e => setId(e.target.value)} required pattern="\s*[a-z0-9][a-z0-9_\-]{0,62}\s*" autoComplete="off" autoCapitalize="none" spellCheck={false} />}</Field>
          </div>
          <Field label={apps.namespaces} hint={words.namespacesHint}>{a => <input {...a} className="mono" value={spaces} onChange={e => setSpaces(e.target.value)} required autoComplete="off" autoCapitalize="none" spellCheck={false} />}</Field>
          <div className="row"><Button kind="main" type="submit">{words.review}</Button><Link className="button" to="/orgs/$org/applications" params={{ org }}>{t.cancel}</Link></div>
        </form>
      )}
    </Page>
  )
}
