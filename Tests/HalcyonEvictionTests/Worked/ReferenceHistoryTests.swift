import HalcyonEvictionTestSupport
import Testing

/// LRU-K, MQ and LIRS, which look back beyond the last access, against sequences worked by hand from their papers.
@Suite("LRU-K, MQ and LIRS by hand", .timeLimit(.minutes(20)))
struct ReferenceHistoryTests {
    /// Capacity 2, K = 2, as many histories retained. Accesses are numbered from 0; the second last of each counts.
    ///
    ///     0 a, 1 b, 2 a    a: 0; b has none
    ///     3 c     b has no second access: evicted, its 1 is retained.
    ///     4 b     c evicted. b: 1, for its history is known.
    ///     5 d     a (0) before b (1): a evicted. Retained: a, c
    ///     6 a     d evicted, and the history of c is one too many. a: 2
    ///     7 c     b (1) before a (2): b evicted. c has no history.
    ///     8 d     c evicted, and the history of d is one too many.
    ///     9 e     d evicted.
    @Test("LRU-2 uses the retained history of an evicted object")
    func lruKUsesRetainedHistories() throws {
        let worked = WorkedSequence("a- b- a+ c-b b-c d-a a-d c-b d-c e-d")
        #expect(try worked.played(by: "lru-k", capacity: 2) == worked.expected)
    }

    /// As above without history: at 5 b has one access only and is evicted, so a is hit at 6.
    @Test("LRU-2 without retained histories forgets the accesses of an evicted object")
    func lruKWithoutRetentionForgetsHistories() throws {
        let worked = WorkedSequence("a- b- a+ c-b b-c d-b a+")
        #expect(try worked.played(by: "lru-k(retained=0)", capacity: 2) == worked.expected)
    }

    /// Capacity 3, lifetime 2, three remembered. Time is what it is before the access; `a3` expires at 3.
    ///
    ///     0 a, 1 b        Q0 b3 a2
    ///     2 a, 3 a        Q0 b3, Q1 a5
    ///     4 c             Q0 c6 b3, Q1 a5
    ///     5 d     b evicted; now it is 6, so a drops.           Q0 a8 d7 c6, remembered b
    ///     6 e     c evicted.                                    Q0 e8 a8 d7, remembered c b
    ///     7 b     d evicted; b had 1 access, now 2.             Q0 e8 a8, Q1 b9, remembered d c
    ///     8 f     a evicted.                                    Q0 f10 e8, Q1 b9, remembered a d c
    ///     9 c     e evicted; it removes c from the ghosts, so c is new; b drops. Q0 b12 c11 f10
    ///     g, h    f and c evicted.
    @Test("MQ uses levels, lifetimes and its ghost queue as in the paper")
    func mqUsesLevelsLifetimesAndGhosts() throws {
        let worked = WorkedSequence("a- b- a+ a+ c- d-b e-c b-d f-a c-e g-f h-c")
        #expect(try worked.played(by: "mq(lifetime=2,ghosts=1)", capacity: 3) == worked.expected)
    }

    /// As above, but c is looked up before e removes it from the ghosts: it has 2 accesses and b, dropped to Q0, is
    /// evicted before it.
    @Test("MQ with rules=libcachesim looks up a ghost before the eviction removes it")
    func mqWithLibCacheSimRulesLooksUpFirst() throws {
        let worked = WorkedSequence("a- b- a+ a+ c- d-b e-c b-d f-a c-e g-f h-b")
        #expect(try worked.played(by: "mq(lifetime=2,ghosts=1,rules=libcachesim)", capacity: 3) == worked.expected)
    }

    /// Capacity 3: two LIR, written in capitals, and one on the queue Q. S is written from the top, ghosts in brackets.
    ///
    ///     a b c   S c B A, Q c
    ///     a hit   S A c B
    ///     d       c evicted.                S d A (c) B, Q d
    ///     d hit   d is LIR, b is not; c is pruned.      S D A, Q b
    ///     b hit   not on S: stays HIR.      S b D A, Q b
    ///     b hit   on S: LIR for a.          S B D, Q a
    ///     c       a evicted.                S c B D, Q c
    ///     e       c evicted.                S e (c) B D, Q e
    ///     c       e evicted; c was on S: LIR for d.     S C (e) B, Q d
    ///     e       d evicted; e was on S: LIR for b.     S E C, Q b
    ///     b hit   on the queue.
    @Test("LIRS moves entries between stack and queue as in the worked sequence")
    func lirsUsesItsStackAndQueue() throws {
        let worked = WorkedSequence("a- b- c- a+ d-c d+ b+ b+ c-a e-c c-e e-d b+")
        #expect(try worked.played(by: "lirs", capacity: 3) == worked.expected)
    }
}
