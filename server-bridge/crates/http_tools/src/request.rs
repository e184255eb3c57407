//! Requests that are rendered from a tool and its arguments.

/// A request that is ready to be sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// The method, in upper case.
    pub method: &'static str,
    /// The complete address.
    pub url: String,
    /// The headers, with their names as written in the document.
    pub headers: Vec<(String, String)>,
    /// The body; `None` if the request has none.
    pub body: Option<String>,
}

impl std::fmt::Debug for Request {
    /// Shows no values, because addresses, headers and bodies may contain secrets.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Request({}, …)", self.method)
    }
}
