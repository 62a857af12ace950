import { keepPreviousData, QueryClient, queryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useCallback, useMemo, useRef } from 'react'
import { vocabulary } from '../domain/catalog.ts'
import { type Answer, call, type Endpoint, type Input, session } from './call.ts'
import { Failure } from './errors.ts'

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      gcTime: 120_000,
      retry: (times, e) => e instanceof Failure && (e.status === 0 || e.status === 429 || e.status >= 502) && times < 2,
      retryDelay: (times, e) => (e instanceof Failure && e.wait ? e.wait * 1000 : 400 * 2 ** times),
      refetchOnWindowFocus: true,
    },
  },
})

/** After a write: whatever was read may be old. */
export const readAnew = () => queries.invalidateQueries({ predicate: q => q.queryKey[0] !== 'session' })

export const sessionQuery = queryOptions({ queryKey: ['session'], queryFn: ({ signal }) => session(signal), staleTime: 60_000, retry: false })

/** The org of the address. */
export function useOrg(): string {
  return useParams({ strict: false }).org ?? ''
}

/** What an endpoint answers, kept by its own name and input. */
export function asking<E extends Endpoint>(endpoint: E, input: Input<E>) {
  return queryOptions({ queryKey: [endpoint, input] as const, queryFn: ({ signal }) => call(endpoint, input, { signal }) })
}

export function useAsk<E extends Endpoint>(endpoint: E, input: Input<E>, how: { on?: boolean; keep?: boolean } = {}) {
  return useQuery({ ...asking(endpoint, input), enabled: how.on ?? true, ...(how.keep ? { placeholderData: keepPreviousData as never } : {}) })
}

export const useSession = () => useQuery(sessionQuery)

export function useMe() {
  const org = useOrg()
  return useQuery({ ...asking('GET /orgs/{org}/me', { path: { org } }), staleTime: 60_000 })
}

/** The words of the org's applications. */
export function useVocabulary(on = true) {
  const org = useOrg()
  return useQuery({ ...asking('GET /orgs/{org}/org/catalog', { path: { org } }), staleTime: 300_000, select: vocabulary, enabled: on })
}

type Paged = { nextCursor: string | null }
type Listing = { [E in Endpoint]: Answer<E> extends Paged ? E : never }[Endpoint]

/** A list in pages, one after the other; onAll reads it to its end. */
export function usePages<E extends Listing, Row>(endpoint: E, input: Input<E>, rows: (page: Answer<E>) => Row[], how: { on?: boolean; limit?: number } = {}) {
  const queryKey = [endpoint, input, 'pages'] as const
  const of = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => {
      const query = { ...(input as { query?: {} }).query, limit: how.limit ?? 1000, ...(pageParam ? { cursor: pageParam } : {}) }
      return call(endpoint, { ...input, query } as Input<E>, { signal })
    },
    initialPageParam: '',
    getNextPageParam: page => (page as Paged).nextCursor ?? undefined,
    placeholderData: keepPreviousData,
    enabled: how.on ?? true,
    staleTime: 60_000,
    refetchOnWindowFocus: false,
  })
  const pages = of.data?.pages as Array<Answer<E>> | undefined
  const list = useMemo(() => pages?.flatMap(rows) ?? [], [pages])
  const latest = useRef(of)
  latest.current = of
  const onMore = useCallback(() => {
    const { hasNextPage, isFetching, isPlaceholderData, error } = latest.current
    if (hasNextPage && !isFetching && !isPlaceholderData && !error) void latest.current.fetchNextPage()
  }, [])
  const onAll = useCallback(() => {
    void (async () => {
      for (let more = latest.current.hasNextPage; more; ) {
        const next = await latest.current.fetchNextPage()
        more = next.hasNextPage && !next.error
      }
    })()
  }, [])
  return {
    pages, list, error: of.error, isStale: of.isPlaceholderData, refetch: of.refetch, isPending: of.isPending, onAll,
    grid: { rows: list, hasMore: of.hasNextPage, isLoading: of.isFetching, onMore, changed: of.isStale && (queries.getQueryState(queryKey)?.isInvalidated ?? false), onReload: () => void queries.resetQueries({ queryKey }) },
  }
}
