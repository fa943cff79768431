import GRDB

extension LogSchema {
    /// Accesses as rows of integers; names in tables of their own. See the page on the schema.
    static let version1: @Sendable (Database) throws -> Void = { db in
        try db.execute(
            sql: """
                CREATE TABLE key (
                    id   INTEGER PRIMARY KEY,
                    hash BLOB NOT NULL UNIQUE,
                    name TEXT
                );
                CREATE TABLE category (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
                CREATE TABLE category_set (id INTEGER PRIMARY KEY, members TEXT NOT NULL UNIQUE);
                CREATE TABLE category_set_member (
                    category_set INTEGER NOT NULL REFERENCES category_set(id),
                    position     INTEGER NOT NULL,
                    category     INTEGER NOT NULL REFERENCES category(id),
                    PRIMARY KEY (category_set, position)
                ) WITHOUT ROWID;
                CREATE TABLE user (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
                CREATE TABLE session (id INTEGER PRIMARY KEY, started INTEGER NOT NULL);
                CREATE TABLE outcome (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
                CREATE TABLE access (
                    id           INTEGER PRIMARY KEY,
                    time         INTEGER NOT NULL,
                    key          INTEGER NOT NULL REFERENCES key(id),
                    cost         INTEGER NOT NULL,
                    category_set INTEGER REFERENCES category_set(id),
                    user         INTEGER REFERENCES user(id),
                    session      INTEGER NOT NULL REFERENCES session(id),
                    outcome      INTEGER NOT NULL REFERENCES outcome(id)
                );
                INSERT INTO outcome VALUES
                    (1, 'memory'), (2, 'disk'), (3, 'network'), (4, 'prefetched'), (5, 'miss');
                """)
    }

    /// A view with the names in place, for people and for pandas.
    static let version2: @Sendable (Database) throws -> Void = { db in
        try db.execute(
            sql: """
                CREATE VIEW accesses AS
                SELECT access.id,
                       access.time / 1e6 AS time,
                       coalesce(key.name, lower(hex(key.hash))) AS key,
                       access.cost AS size,
                       (SELECT group_concat(name, '|') FROM
                           (SELECT category.name FROM category_set_member AS member
                            JOIN category ON category.id = member.category
                            WHERE member.category_set = access.category_set ORDER BY member.position)) AS category,
                       user.name AS user,
                       outcome.name AS outcome,
                       access.session
                FROM access
                JOIN key ON key.id = access.key
                JOIN outcome ON outcome.id = access.outcome
                LEFT JOIN user ON user.id = access.user;
                """)
    }

    /// The durations of fetches, and the events that a replay of prefetching needs, with views of both.
    static let version3: @Sendable (Database) throws -> Void = { db in
        try db.execute(
            sql: """
                ALTER TABLE access ADD COLUMN duration INTEGER;
                CREATE TABLE event_kind (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
                CREATE TABLE event (
                    id         INTEGER PRIMARY KEY,
                    time       INTEGER NOT NULL,
                    kind       INTEGER NOT NULL REFERENCES event_kind(id),
                    access     INTEGER NOT NULL,
                    key        INTEGER REFERENCES key(id),
                    user       INTEGER REFERENCES user(id),
                    duration   INTEGER,
                    cost       INTEGER NOT NULL,
                    conditions INTEGER NOT NULL
                );
                INSERT INTO event_kind VALUES
                    (1, 'prefetch_start'), (2, 'prefetch_arrival'), (3, 'prefetch_end'), (4, 'plan'), (5, 'victim'),
                    (6, 'likely'), (7, 'unlikely'), (8, 'visit_end'), (9, 'day_start'), (10, 'background'),
                    (11, 'connected'), (12, 'conditions');
                DROP VIEW accesses;
                CREATE VIEW accesses AS
                SELECT access.id,
                       access.time / 1e6 AS time,
                       coalesce(key.name, lower(hex(key.hash))) AS key,
                       access.cost AS size,
                       (SELECT group_concat(name, '|') FROM
                           (SELECT category.name FROM category_set_member AS member
                            JOIN category ON category.id = member.category
                            WHERE member.category_set = access.category_set ORDER BY member.position)) AS category,
                       user.name AS user,
                       outcome.name AS outcome,
                       access.session,
                       access.duration / 1e6 AS duration
                FROM access
                JOIN key ON key.id = access.key
                JOIN outcome ON outcome.id = access.outcome
                LEFT JOIN user ON user.id = access.user;
                CREATE VIEW events AS
                SELECT event.id,
                       event.time / 1e6 AS time,
                       event_kind.name AS kind,
                       event.access,
                       CASE WHEN event.key IS NOT NULL THEN coalesce(key.name, lower(hex(key.hash))) END AS key,
                       user.name AS user,
                       event.duration / 1e6 AS duration,
                       event.cost AS size,
                       event.conditions
                FROM event
                JOIN event_kind ON event_kind.id = event.kind
                LEFT JOIN key ON key.id = event.key
                LEFT JOIN user ON user.id = event.user;
                """)
    }

    /// The lists that were shown, with a view of their items.
    static let version4: @Sendable (Database) throws -> Void = { db in
        try db.execute(
            sql: """
                CREATE TABLE list (
                    id     INTEGER PRIMARY KEY,
                    time   INTEGER NOT NULL,
                    access INTEGER NOT NULL,
                    user   INTEGER REFERENCES user(id)
                );
                CREATE TABLE list_item (
                    list         INTEGER NOT NULL REFERENCES list(id),
                    position     INTEGER NOT NULL,
                    key          INTEGER NOT NULL REFERENCES key(id),
                    cost         INTEGER NOT NULL,
                    category_set INTEGER REFERENCES category_set(id),
                    PRIMARY KEY (list, position)
                ) WITHOUT ROWID;
                CREATE VIEW lists AS
                SELECT list.id AS list,
                       list.time / 1e6 AS time,
                       list.access,
                       list_item.position,
                       coalesce(key.name, lower(hex(key.hash))) AS key,
                       list_item.cost AS size,
                       (SELECT group_concat(name, '|') FROM
                           (SELECT category.name FROM category_set_member AS member
                            JOIN category ON category.id = member.category
                            WHERE member.category_set = list_item.category_set ORDER BY member.position)) AS category,
                       user.name AS user
                FROM list
                JOIN list_item ON list_item.list = list.id
                JOIN key ON key.id = list_item.key
                LEFT JOIN user ON user.id = list.user;
                """)
    }
}
