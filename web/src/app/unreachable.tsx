import { useRouter } from '@tanstack/react-router'
import { Failed } from '../ui/States.tsx'

export function Unreachable({ error }: { error: unknown }) {
  const router = useRouter()
  return (
    <main className="page">
      <Failed of={error} retry={() => void router.invalidate()} />
    </main>
  )
}
