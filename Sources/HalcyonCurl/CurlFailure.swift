import CCurl
import HalcyonNetworking

/// What libcurl's errors mean here.
enum CurlFailure {
    /// The error of a transfer that libcurl ended.
    static func error(_ code: CURLcode, _ transfer: CurlTransfer) -> NetworkError {
        let request = transfer.order.request
        let reason = message(code, transfer)
        switch code {
        case CURLE_URL_MALFORMAT: return .invalidURL(request.url.absoluteString)
        case CURLE_UNSUPPORTED_PROTOCOL:
            // What answers like HTTP/0.9 is told by the same number as a scheme that libcurl was built without.
            return transfer.isConnected ? .invalidResponse(reason) : .unsupportedScheme(request.url.scheme ?? "")
        case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING: return .invalidResponse(reason)
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: return .cannotFindHost(reason)
        case CURLE_COULDNT_CONNECT: return .cannotConnect(reason)
        case CURLE_PARTIAL_FILE: return truncated(transfer)
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_HTTP2, CURLE_HTTP2_STREAM:
            return transfer.received > 0 ? truncated(transfer) : .connectionLost(reason)
        // The other limits of time are kept here and not by libcurl.
        case CURLE_OPERATION_TIMEDOUT: return .timedOut(.connect)
        case CURLE_OUT_OF_MEMORY where transfer.isConnected && transfer.head == nil:
            // A single line longer than libcurl takes.
            return .headersTooLarge(limit: request.limits.headerBytes)
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
            CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_USE_SSL_FAILED:
            return .tls(reason)
        default: return .transport(code: Int(code.rawValue), reason)
        }
    }

    private static func truncated(_ transfer: CurlTransfer) -> NetworkError {
        let head = transfer.head
        return .truncatedBody(
            received: transfer.received, expected: head?.isCompressed == true ? nil : head?.contentLength)
    }

    private static func message(_ code: CURLcode, _ transfer: CurlTransfer) -> String {
        if let text = transfer.message.baseAddress.map({ String(cString: $0) }), !text.isEmpty { return text }
        return curl_easy_strerror(code).map { String(cString: $0) } ?? "unknown"
    }
}
